const DONE = Promise.resolve();

/**
 * Calls back at the end of the turn: what one turn brings together goes on together.
 *
 * As `queueMicrotask`, whose bookkeeping in Node takes longer than what is done there; what is thrown is a promise's rejection.
 */
export function atEndOfTurn(act: () => void): void {
  void DONE.then(act);
}
