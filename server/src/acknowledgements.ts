import { JechoError } from "@jecho/shared";
import type { Ack, EventsFrame } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";

/** A synchronous event that was sent out and that not every process has acknowledged. */
interface Pending {
  readonly from: Connection;
  readonly channel: number;
  readonly producer: number;
  readonly raised: number;
  readonly missing: Set<Connection>;
  consumers: number;
  failed: number;
  message: string;
}

/** Synchronous events of one connection's producers that may be under way at once. */
const MOST_PENDING = 16_384;

/** Gathers the acknowledgements of synchronous events, and tells the producer's process when all are there. */
export class Acknowledgements {
  /** By channel and sequence number. */
  readonly #pending = new Map<string, Pending>();
  /** By the connection that owes an acknowledgement, or waits for some. */
  readonly #owed = new Map<Connection, Set<string>>();
  readonly #awaited = new Map<Connection, Set<string>>();

  /** Call before the run is sent out. @throws JechoError `OVERLOADED` where too many are under way */
  expect(channel: Channel, frame: EventsFrame, from: Connection): void {
    const { producer, raised, seq, count } = frame;
    const awaited = setOf(this.#awaited, from);
    if (awaited.size + count > MOST_PENDING) {
      throw new JechoError(
        "OVERLOADED",
        `at most ${MOST_PENDING} synchronous events of one process may be under way`,
      );
    }
    const receivers = channel.receivers(from);
    for (let i = 0; i < count; i++) {
      const pending: Pending = {
        from,
        channel: channel.number,
        producer,
        raised: raised + i,
        missing: new Set(receivers),
        consumers: 0,
        failed: 0,
        message: "",
      };
      if (receivers.length === 0) {
        tell(pending);
        continue;
      }
      const key = keyOf(channel.number, seq + i);
      this.#pending.set(key, pending);
      awaited.add(key);
      for (const receiver of receivers) setOf(this.#owed, receiver).add(key);
    }
  }

  /** @throws JechoError `ACK_UNEXPECTED` where this connection does not owe it */
  receive(connection: Connection, { channel, seq, consumers, failed, message }: Ack): void {
    const key = keyOf(channel, Number(seq));
    const pending = this.#pending.get(key);
    if (pending === undefined || !pending.missing.has(connection)) {
      throw new JechoError(
        "ACK_UNEXPECTED",
        `event ${seq} of channel ${channel} was not awaited from this connection`,
      );
    }
    pending.consumers += consumers;
    pending.failed += failed;
    if (failed > 0 && pending.message === "") pending.message = message.slice(0, 500);
    this.#settle(connection, key, pending);
  }

  /** Consumers that have left a channel do not answer for its events any more. */
  left(connection: Connection, channel: number): void {
    for (const key of [...(this.#owed.get(connection) ?? [])]) {
      const pending = this.#pending.get(key);
      if (pending?.channel === channel) this.#settle(connection, key, pending);
    }
  }

  lost(connection: Connection): void {
    for (const key of [...(this.#owed.get(connection) ?? [])]) {
      const pending = this.#pending.get(key);
      if (pending !== undefined) this.#settle(connection, key, pending);
    }
    for (const key of this.#awaited.get(connection) ?? []) {
      const pending = this.#pending.get(key);
      this.#pending.delete(key);
      for (const receiver of pending?.missing ?? []) this.#owed.get(receiver)?.delete(key);
    }
    this.#owed.delete(connection);
    this.#awaited.delete(connection);
  }

  get size(): number {
    return this.#pending.size;
  }

  #settle(connection: Connection, key: string, pending: Pending): void {
    pending.missing.delete(connection);
    this.#owed.get(connection)?.delete(key);
    if (pending.missing.size > 0) return;
    this.#pending.delete(key);
    this.#awaited.get(pending.from)?.delete(key);
    tell(pending);
  }
}

function tell({ from, channel, producer, raised, consumers, failed, message }: Pending): void {
  from.send({ kind: "Processed", channel, producer, raised: BigInt(raised), consumers, failed, message });
}

function keyOf(channel: number, seq: number): string {
  return `${channel} ${seq}`;
}

function setOf(sets: Map<Connection, Set<string>>, connection: Connection): Set<string> {
  let set = sets.get(connection);
  if (set === undefined) {
    set = new Set();
    sets.set(connection, set);
  }
  return set;
}
