import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import type { Stored } from "./stored.ts";

/**
 * Keeps histories beyond the life of a gateway, by the names of channels; a derived channel's begins with the channel's and a space.
 * `server/test/history/store.test.ts` says what each implementation has to do.
 */
export interface HistoryStore {
  /** Whether it keeps only channels with a requested durable history. */
  readonly isForDurable: boolean;
  /** Bytes that wait to be stored. */
  readonly waitingBytes: number;
  /**
   * Prepares `load` for a channel and its derived channels.
   *
   * @returns undefined where nothing has to be waited for @throws JechoError why it cannot be read
   */
  fetch(channel: string): Promise<void> | undefined;
  /** The stored history of this channel; undefined where there is none. */
  load(channel: string): Stored | undefined;
  /** Begins a numbering: from now on the channel is stored. */
  beginEpoch(channel: string, start: EpochStart, retention: Retention): void;
  addType(channel: string, token: bigint, schema: Uint8Array): void;
  /** @returns resolves when the run is stored; undefined where it is */
  append(channel: string, run: LoggedRun): Promise<void> | undefined;
  /** Drops the runs before this event, except those that begin with one of `but`. */
  trim(channel: string, firstSeq: number, but: ReadonlySet<number>): void;
  /** Forgets all of a channel. */
  forget(channel: string): void;
  /** The channel and its derived ones are no longer used here: `fetch` is called before the next use. */
  leave(channel: string): void;
  /** Resolves when everything is stored; undefined where it is. */
  settled(): Promise<unknown> | undefined;
  close(): void;
}
