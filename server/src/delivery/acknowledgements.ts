import { JechoError } from "@jecho/shared";
import { type Ack, type EventsFrame, Few, type GiveUp } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "./channel.ts";

/** A synchronous event that not every process has acknowledged. */
interface Pending {
  readonly from: Connection;
  readonly waiting: WaitingProducers;
  readonly channel: Channel;
  readonly seq: number;
  readonly producer: number;
  readonly raised: number;
  /** Connections that it was sent to. */
  readonly receivers: readonly Connection[];
  /** Connections that have not acknowledged it. */
  missing: number;
  consumers: number;
  failed: number;
  message: string;
  /** Whether the producer no longer waits: late acknowledgements are then no mistake. */
  givenUp: boolean;
}

/** The synchronous events for which one connection's producers wait. */
interface WaitingProducers {
  /** Number of unacknowledged events. */
  events: number;
  /** Events by what their producer knows them by. */
  readonly pending: Map<string, Pending>;
}

/** Most unacknowledged synchronous events of one connection. */
const MOST_PENDING = 16_384;
/** Most acknowledgements that a run of several events has waited for: its events times the processes that take them. */
const MOST_OWED = 32_768;
/** Bytes counted for each acknowledgement that is waited for. */
const OWED_BYTES = 32;

/** Collects the acknowledgements of synchronous events, and tells the producer's process when all are there. */
export class Acknowledgements {
  /** Events for which each connection owes an acknowledgement, by channel number and sequence number. */
  readonly #owed = new Map<Connection, Map<number, Few<number, Pending>>>();
  readonly #waiting = new Map<Connection, WaitingProducers>();
  /** Events that a connection's consumers were handling when they left. */
  readonly #forgiven = new Map<Connection, Set<string>>();

  /** Call before the run is sent out. @throws JechoError `OVERLOADED` where too many are under way */
  expect(channel: Channel, frame: EventsFrame, from: Connection, process: number): void {
    const { producer, raised, seq, count } = frame;
    let waiting = this.#waiting.get(from);
    if (waiting === undefined) {
      waiting = { events: 0, pending: new Map() };
      this.#waiting.set(from, waiting);
    }
    if (waiting.events + count > MOST_PENDING) {
      throw new JechoError(
        "OVERLOADED",
        `at most ${MOST_PENDING} synchronous events of one process may be under way`,
      );
    }
    const receivers = channel.listeners.receivers(from, process);
    const owed = count * receivers.length;
    try {
      if (count > 1 && owed > MOST_OWED)
        throw new JechoError("OVERLOADED", `at most ${MOST_OWED} acknowledgements of a run are waited for`);
      from.checkKeeping(owed * OWED_BYTES);
    } catch (error) {
      return this.#waitForNone(channel, frame, from, receivers, (error as JechoError).message);
    }
    from.keep(owed * OWED_BYTES);
    for (let i = 0; i < count; i++) {
      const pending: Pending = {
        from,
        waiting,
        channel,
        seq: seq + i,
        producer,
        raised: raised + i,
        receivers,
        missing: receivers.length,
        consumers: 0,
        failed: 0,
        message: "",
        givenUp: false,
      };
      if (receivers.length === 0) {
        tell(pending);
        continue;
      }
      waiting.events++;
      waiting.pending.set(nameOf(channel.number, producer, raised + i), pending);
      for (const receiver of receivers) this.#owe(receiver, pending);
    }
  }

  /** Has a run sent without asking for acknowledgements: its producer is told that they are too many. */
  #waitForNone(
    channel: Channel,
    frame: EventsFrame,
    from: Connection,
    receivers: readonly Connection[],
    message: string,
  ): void {
    const { producer, raised, count } = frame;
    frame.forgetSync();
    let consumers = 0;
    for (const receiver of receivers) consumers += Math.max(1, channel.listeners.consumersAt(receiver));
    for (let i = 0; i < count; i++)
      tell({ from, channel, producer, raised: raised + i, consumers, failed: consumers, message });
  }

  /** Answers a run whose channel is gone: it has no consumers. */
  unheard({ channel, producer, raised, count }: EventsFrame, from: Connection): void {
    for (let i = 0; i < count; i++)
      from.send({ kind: "Processed", channel, producer, raised: raised + i, consumers: 0, failed: 0 });
  }

  /** @throws JechoError `ACK_UNEXPECTED` where this connection does not owe it */
  receive(connection: Connection, { channel, seq, consumers, failed, message }: Ack): void {
    // Consumers that left may still acknowledge the events that they were handling.
    if (this.#forgiven.get(connection)?.delete(`${channel} ${seq}`)) return;
    const pending = this.#owed.get(connection)?.get(channel)?.get(seq);
    if (pending === undefined) {
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

  /** A producer no longer waits. It is told how many consumers have not answered. */
  giveUp(from: Connection, { channel, producer, raised }: GiveUp): void {
    const given = this.#waiting.get(from)?.pending.get(nameOf(channel, producer, Number(raised)));
    if (given === undefined) return;
    let missing = 0;
    // A modulator that runs there in the producer's stead counts as one that has not answered.
    for (const receiver of given.receivers)
      if (this.#owed.get(receiver)?.get(channel)?.get(given.seq) === given)
        missing += Math.max(1, given.channel.listeners.consumersAt(receiver));
    given.givenUp = true;
    tell(given, missing);
  }

  /** Events were dropped before they were sent to this connection, which need not acknowledge them. */
  skip(connection: Connection, channel: number, seq: number, count: number): void {
    const owed = this.#owed.get(connection)?.get(channel);
    for (let i = 0; i < count; i++) {
      const pending = owed?.get(seq + i);
      if (pending !== undefined) this.#settle(connection, pending);
    }
  }

  /** A connection's consumers have left a channel: its events are not waited for there. */
  left(connection: Connection, channel: number): void {
    const owed = this.#owed.get(connection);
    const pendings = owed?.get(channel);
    if (pendings === undefined) return;
    const forgiven = this.#forgiven.get(connection) ?? new Set();
    this.#forgiven.set(connection, forgiven);
    for (const pending of [...pendings.values()]) {
      if (forgiven.size < MOST_PENDING) forgiven.add(`${channel} ${pending.seq}`);
      this.#settle(connection, pending);
    }
    owed?.delete(channel);
  }

  lost(connection: Connection): void {
    for (const pendings of this.#owed.get(connection)?.values() ?? [])
      for (const pending of [...pendings.values()]) this.#settle(connection, pending);
    // Acknowledgements for a producer that has gone may still come, and are no mistake: nothing is sent to it any more.
    this.#owed.delete(connection);
    this.#waiting.delete(connection);
    this.#forgiven.delete(connection);
  }

  #owe(receiver: Connection, pending: Pending): void {
    let owed = this.#owed.get(receiver);
    if (owed === undefined) {
      owed = new Map();
      this.#owed.set(receiver, owed);
    }
    let pendings = owed.get(pending.channel.number);
    if (pendings === undefined) {
      pendings = new Few();
      owed.set(pending.channel.number, pendings);
    }
    pendings.set(pending.seq, pending);
  }

  #settle(connection: Connection, pending: Pending): void {
    const { channel, seq, waiting } = pending;
    this.#owed.get(connection)?.get(channel.number)?.delete(seq);
    if (--pending.missing > 0) return;
    pending.from.keep(-pending.receivers.length * OWED_BYTES);
    waiting.events--;
    waiting.pending.delete(nameOf(channel.number, pending.producer, pending.raised));
    if (!pending.givenUp) tell(pending);
  }
}

function nameOf(channel: number, producer: number, raised: number): string {
  return `${channel} ${producer} ${raised}`;
}

type EventTally = Pick<
  Pending,
  "from" | "channel" | "producer" | "raised" | "consumers" | "failed" | "message"
>;

function tell(tally: EventTally, missing = 0): void {
  const { from, channel, producer, raised, consumers, failed, message } = tally;
  from.send({
    kind: "Processed",
    channel: channel.number,
    producer,
    raised,
    consumers,
    failed,
    message,
    missing,
    taken: from.takeUnconfirmed(),
  });
}
