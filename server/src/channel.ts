import { type EventsFrame, FLAG_SYNC } from "@jecho/shared/internal";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Connection } from "./connection.ts";

/** What a channel and a derived channel have in common at the gateway: a number, listeners, and the count of events. */
export class Channel {
  readonly number: number;
  /** Which numbering this is; a channel that is forgotten and comes back has another one. */
  readonly epoch: number;
  /** Sequence number that the next event gets. The first event of an epoch is 1. */
  nextSeq = 1;
  readonly #topic: string;
  readonly #acknowledgements: Acknowledgements;
  /** How many consumers stand behind each connection: the bytes cross it once. */
  readonly #listeners = new Map<Connection, number>();
  #consumers = 0;

  constructor(number: number, epoch: number, acknowledgements: Acknowledgements) {
    this.number = number;
    this.epoch = epoch;
    this.#topic = `channel ${number}`;
    this.#acknowledgements = acknowledgements;
  }

  get consumers(): number {
    return this.#consumers;
  }

  enter(connection: Connection): void {
    const count = this.#listeners.get(connection) ?? 0;
    this.#listeners.set(connection, count + 1);
    this.#consumers++;
    if (count === 0) connection.subscribe(this.#topic);
  }

  leave(connection: Connection): void {
    const count = this.#listeners.get(connection);
    if (count === undefined) return;
    this.#consumers--;
    if (count > 1) {
      this.#listeners.set(connection, count - 1);
    } else {
      this.#listeners.delete(connection);
      connection.unsubscribe(this.#topic);
      this.#acknowledgements.left(connection, this.number);
    }
  }

  /** The connections that an event of this one goes to. */
  receivers(from: Connection): Connection[] {
    return [...this.#listeners.keys()].filter(connection => connection !== from);
  }

  /** Tells a producer's concentrator how many consumers there are in other processes; it knows its own. */
  tellDemand(connection: Connection): void {
    const consumers = this.#consumers - (this.#listeners.get(connection) ?? 0);
    connection.send({ kind: "Demand", channel: this.number, consumers });
  }

  /**
   * Stamps the run where it lies and sends the very same bytes to everyone who listens, but not back to its sender.
   *
   * @throws JechoError `OVERLOADED` where too many synchronous events are under way
   */
  fanOut(frame: EventsFrame, from: Connection): void {
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    if ((frame.flags & FLAG_SYNC) !== 0) this.#acknowledgements.expect(this, frame, from);
    if (this.#consumers > 0) from.publish(this.#topic, frame.raw());
  }
}
