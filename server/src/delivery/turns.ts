import { joinFrames } from "@jecho/shared/internal";
import type { Connection, QueuedChannel, Standing } from "../connections/connection.ts";
import { SOCKET_HIGH_BYTES } from "./listener.ts";

/** Bytes of waiting runs after which a message is sent. */
const TOGETHER_BYTES = 64 << 10;

/** The channels with a queue for one connection. There may be thousands, so frequent calls look only at those concerned. */
export class Turns {
  /** Channels, the next one first. */
  readonly #due = new Set<QueuedChannel>();
  readonly #level = new Set<QueuedChannel>();
  readonly #paused = new Set<QueuedChannel>();
  /** Called when no channel has a queue for it any more. */
  whenOver: (() => void) | undefined;

  get isEmpty(): boolean {
    return this.#due.size + this.#level.size + this.#paused.size === 0;
  }

  /** @param standing undefined where it has no queue for the connection any more */
  set(channel: QueuedChannel, standing: Standing | undefined): void {
    this.#due.delete(channel);
    this.#level.delete(channel);
    this.#paused.delete(channel);
    if (standing === "due") this.#due.add(channel);
    else if (standing === "level") this.#level.add(channel);
    else if (standing === "paused") this.#paused.add(channel);
    else if (this.isEmpty) this.whenOver?.();
  }

  /** Sends while there is room, one run of each channel in turn, several runs in one message. */
  send(connection: Connection): void {
    if (this.#due.size === 0) return;
    let parts: Uint8Array[] = [];
    let bytes = 0;
    let room = SOCKET_HIGH_BYTES - connection.bufferedBytes;
    for (const channel of this.#due) {
      if (bytes >= TOGETHER_BYTES) {
        connection.sendBytes(joinFrames(parts));
        parts = [];
        bytes = 0;
        room = SOCKET_HIGH_BYTES - connection.bufferedBytes;
      }
      if (bytes > room) break;
      bytes += channel.takeWaiting(connection, parts);
      // Behind the others, if more waits.
      if (this.#due.delete(channel)) this.#due.add(channel);
    }
    if (parts.length > 0) connection.sendBytes(joinFrames(parts));
  }

  /** The connection has caught up: where nothing waits, it gets events by the topic again. */
  keepUp(connection: Connection): void {
    for (const channel of this.#level) channel.keepUp(connection);
  }

  /** Has channels drop events beyond the connection's lowered bound. */
  makeRoom(connection: Connection): void {
    for (const channel of [...this.#paused, ...this.#due]) channel.makeRoom(connection);
  }

  /** Tells the channels that there is room again. */
  letGoOn(connection: Connection): void {
    for (const channels of [this.#due, this.#level, this.#paused])
      for (const channel of channels) channel.letGoOn(connection);
  }
}
