import { encodeControl, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "./channel.ts";

/** Notices of one message at most. */
const MOST_TOGETHER = 1024;

/**
 * Tells those who send events what demand there is for them: once a turn, in one message, however many channels' demand has
 * changed meanwhile and however often. What is told is what is so by then.
 */
export class DemandNotices {
  readonly #isPresent: (channel: Channel) => boolean;
  /** By who is told: the channels, each with the processes whose events it is about. */
  readonly #due = new Map<Connection, Map<Channel, readonly number[]>>();

  /** @param isPresent whether a channel has not been forgotten by the time that it would be told of */
  constructor(isPresent: (channel: Channel) => boolean) {
    this.#isPresent = isPresent;
  }

  /** The demand for what these processes raise on the channel may have changed: this connection, which sends it, is told. */
  add(connection: Connection, channel: Channel, processes: readonly number[]): void {
    if (this.#due.size === 0) queueMicrotask(() => this.#tell());
    const channels = this.#due.get(connection);
    if (channels === undefined) this.#due.set(connection, new Map([[channel, processes]]));
    else channels.set(channel, processes);
  }

  #tell(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const [connection, channels] of due) {
      const frames = [...channels]
        .filter(([channel]) => this.#isPresent(channel))
        .flatMap(([channel, processes]) => channel.takeDemand(connection, processes).map(encodeControl));
      for (let at = 0; at < frames.length; at += MOST_TOGETHER)
        connection.sendBytes(joinFrames(frames.slice(at, at + MOST_TOGETHER)));
    }
  }
}
