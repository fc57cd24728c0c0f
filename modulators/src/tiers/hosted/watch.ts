/** Words of shared memory by which the main thread tells its guard what it is doing, and how the guard ends the process. */
export const GUARD = {
  /** Word 0: calls begun so far. */
  calls: 0,
  /** Word 1: deadline of the present call in ms; 0 between calls. */
  limitMs: 1,
  /** Processor time that a call has after its deadline, for the engine to end it: at least this, */
  graceMs: 150,
  /** and this share of the deadline, for a timer is late on a loaded machine. */
  graceShare: 0.5,
  /** Ends the process, and tells its parent why. */
  signal: "SIGVTALRM",
} as const;

/** Exit code of the host's process where its engine does not load. */
export const NO_ENGINE = 78;

export interface GuardData {
  readonly words: Int32Array;
  /** Process id of the producer. */
  readonly parent: number;
}
