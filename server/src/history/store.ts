import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import type { Stored } from "./stored.ts";

/**
 * Keeps histories beyond the life of a gateway, by the names of channels; a derived channel's begins with the channel's and a space.
 * `server/test/history/store.test.ts` says what each implementation has to do.
 */
export interface HistoryStore {
  /** Whether it keeps those channels alone that ask for a durable history. */
  readonly isForDurable: boolean;
  /** Bytes that wait to be stored. */
  readonly waitingBytes: number;
  /**
   * Has at hand what is stored of a channel, and of what is derived from it, for `load`.
   *
   * @returns undefined where that needs no waiting @throws JechoError why it cannot be had
   */
  fetch(channel: string): Promise<void> | undefined;
  /** What is stored of this channel; undefined where that is nothing. */
  load(channel: string): Stored | undefined;
  /** A numbering begins: from now on the channel is stored. */
  beginEpoch(channel: string, start: EpochStart, retention: Retention): void;
  addType(channel: string, token: bigint, schema: Uint8Array): void;
  /** @returns resolves when the run is stored; undefined: it is */
  append(channel: string, run: LoggedRun): Promise<void> | undefined;
  /** Lets go of the runs before this event, but for those that begin with these. */
  trim(channel: string, firstSeq: number, but: ReadonlySet<number>): void;
  /** Forgets all of a channel. */
  forget(channel: string): void;
  /** Nobody uses the channel here any more, nor what is derived from it: `fetch` comes before the next that is said of it. */
  leave(channel: string): void;
  /** Resolves when all that waits is stored; undefined: nothing does. */
  settled(): Promise<unknown> | undefined;
  close(): void;
}
