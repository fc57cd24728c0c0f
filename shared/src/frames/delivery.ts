/* The enumerations of frame.fbs that OpenConsumer carries, by their names. */

/** A consumer's possible beginnings. */
export const FROM = { now: 0, last: 1, seq: 2, time: 3, resume: 4 } as const;

/** The policies of a consumer's full queue at the gateway, and their numbers on the wire. */
export const WHEN_FULL = { "drop-oldest": 0, latest: 1, disconnect: 2, block: 3 } as const;
