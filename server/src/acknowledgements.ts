import { JechoError } from "@jecho/shared";
import type { Ack, EventsFrame, GiveUp } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";

/** A synchronous event that was sent out and that not every process has acknowledged. */
interface Pending {
  readonly from: Connection;
  readonly channel: Channel;
  readonly seq: number;
  readonly producer: number;
  readonly raised: number;
  readonly missing: Set<Connection>;
  consumers: number;
  failed: number;
  message: string;
  /** The producer waits no longer; acknowledgements that still come are nobody's mistake. */
  givenUp: boolean;
}

/** Synchronous events of one connection's producers that may be under way at once. */
const MOST_PENDING = 16_384;

/** Gathers the acknowledgements of synchronous events, and tells the producer's process when all are there. */
export class Acknowledgements {
  /** By channel number and sequence number. */
  readonly #pending = new Map<number, Map<number, Pending>>();
  /** By the connection that owes an acknowledgement, or waits for some. */
  readonly #owed = new Map<Connection, Set<Pending>>();
  readonly #awaited = new Map<Connection, Set<Pending>>();
  /** Events that a connection's consumers were at when they left. */
  readonly #forgiven = new Map<Connection, Set<string>>();

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
        channel,
        seq: seq + i,
        producer,
        raised: raised + i,
        missing: new Set(receivers),
        consumers: 0,
        failed: 0,
        message: "",
        givenUp: false,
      };
      if (receivers.length === 0) {
        tell(pending);
        continue;
      }
      let ofChannel = this.#pending.get(channel.number);
      if (ofChannel === undefined) {
        ofChannel = new Map();
        this.#pending.set(channel.number, ofChannel);
      }
      ofChannel.set(pending.seq, pending);
      awaited.add(pending);
      for (const receiver of receivers) setOf(this.#owed, receiver).add(pending);
    }
  }

  /** A run that goes to nobody, for its channel is gone: nobody is waited for. */
  unheard({ channel, producer, raised, count }: EventsFrame, from: Connection): void {
    for (let i = 0; i < count; i++)
      from.send({ kind: "Processed", channel, producer, raised: raised + i, consumers: 0, failed: 0 });
  }

  /** @throws JechoError `ACK_UNEXPECTED` where this connection does not owe it */
  receive(connection: Connection, { channel, seq, consumers, failed, message }: Ack): void {
    const pending = this.#pending.get(channel)?.get(seq);
    // What its consumers were at when they left is forgiven, and may still be acknowledged.
    if (this.#forgiven.get(connection)?.delete(`${channel} ${seq}`)) return;
    if (pending === undefined || !pending.missing.has(connection)) {
      throw new JechoError(
        "ACK_UNEXPECTED",
        `event ${seq} of channel ${channel} was not awaited from this connection`,
      );
    }
    pending.consumers += consumers;
    pending.failed += failed;
    if (failed > 0 && pending.message === "") pending.message = message.slice(0, 500);
    this.#settle(connection, pending);
  }

  /** A producer waits no longer: it is told how many consumers have not answered. */
  giveUp(from: Connection, { channel, producer, raised }: GiveUp): void {
    for (const pending of this.#awaited.get(from) ?? []) {
      const isMeant =
        pending.channel.number === channel &&
        pending.producer === producer &&
        pending.raised === Number(raised);
      if (!isMeant) continue;
      pending.givenUp = true;
      let missing = 0;
      for (const connection of pending.missing) missing += pending.channel.consumersAt(connection);
      tell(pending, missing);
      return;
    }
  }

  /** Events that were dropped before they were sent to this connection are not owed by it. */
  skip(connection: Connection, channel: number, seq: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const pending = this.#pending.get(channel)?.get(seq + i);
      if (pending?.missing.has(connection)) this.#settle(connection, pending);
    }
  }

  /** Consumers that have left a channel do not answer for its events any more. */
  left(connection: Connection, channel: number): void {
    for (const pending of [...(this.#owed.get(connection) ?? [])]) {
      if (pending.channel.number !== channel) continue;
      let forgiven = this.#forgiven.get(connection);
      if (forgiven === undefined) {
        forgiven = new Set();
        this.#forgiven.set(connection, forgiven);
      }
      if (forgiven.size < MOST_PENDING) forgiven.add(`${channel} ${pending.seq}`);
      this.#settle(connection, pending);
    }
  }

  lost(connection: Connection): void {
    for (const pending of [...(this.#owed.get(connection) ?? [])]) this.#settle(connection, pending);
    // Those who still owe an acknowledgement to a producer that has gone make no mistake when it comes.
    for (const pending of this.#awaited.get(connection) ?? []) pending.givenUp = true;
    this.#owed.delete(connection);
    this.#awaited.delete(connection);
    this.#forgiven.delete(connection);
  }

  #settle(connection: Connection, pending: Pending): void {
    pending.missing.delete(connection);
    this.#owed.get(connection)?.delete(pending);
    if (pending.missing.size > 0) return;
    this.#forget(pending);
    this.#awaited.get(pending.from)?.delete(pending);
    if (!pending.givenUp) tell(pending);
  }

  #forget({ channel, seq }: Pending): void {
    const ofChannel = this.#pending.get(channel.number);
    ofChannel?.delete(seq);
    if (ofChannel?.size === 0) this.#pending.delete(channel.number);
  }
}

function tell(pending: Pending, missing = 0): void {
  const { from, channel, producer, raised, consumers, failed, message } = pending;
  from.send({
    kind: "Processed",
    channel: channel.number,
    producer,
    raised,
    consumers,
    failed,
    message,
    missing,
  });
}

function setOf(sets: Map<Connection, Set<Pending>>, connection: Connection): Set<Pending> {
  let set = sets.get(connection);
  if (set === undefined) {
    set = new Set();
    sets.set(connection, set);
  }
  return set;
}
