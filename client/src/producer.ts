import { JechoError, type Type } from "@jecho/shared";
import { type Demand, NO_DEMAND } from "./demand.ts";
import type { PortNotice } from "./port.ts";
import type { Session } from "./session.ts";
import { Listeners } from "./status.ts";

/** Raises events on a channel. Made by `channel.produce`. */
export class Producer<T> {
  readonly channel: string;
  readonly #session: Session;
  readonly #endpoint: number;
  readonly #type: Type<T> | undefined;
  readonly #demandListeners = new Listeners<Demand>();
  #demand: Demand = NO_DEMAND;
  #isOpen = true;
  #events = 0;
  #bytes = 0;
  #dropped = 0;

  constructor(session: Session, endpoint: number, channel: string, type: Type<T> | undefined) {
    this.#session = session;
    this.#endpoint = endpoint;
    this.channel = channel;
    this.#type = type;
  }

  /** What is wanted now: whether anybody would see an event, and through which modulators. */
  get demand(): Demand {
    return this.#demand;
  }

  /** Calls back when the demand changes; returns what stops that. */
  onDemand(listener: (demand: Demand) => void): () => void {
    return this.#demandListeners.add(listener);
  }

  /** Events and encoded bytes raised so far, and events dropped because there was no connection. */
  get stats(): { readonly events: number; readonly bytes: number; readonly dropped: number } {
    return { events: this.#events, bytes: this.#bytes, dropped: this.#dropped };
  }

  /**
   * Raises an event: encodes it and returns. Its values may be changed again afterwards.
   *
   * @returns the bytes that the event was encoded to
   * @throws JechoError `EVENT_INVALID` naming the field, `QUEUE_FULL`, `CLOSED`
   */
  publish(event: T): number {
    if (!this.#isOpen) throw new JechoError("CLOSED", `the producer of ${this.channel} is closed`);
    const bytes = this.#session.raise(this.#endpoint, this.#type, event);
    this.#events++;
    this.#bytes += bytes;
    return bytes;
  }

  /** Leaves the channel. What was raised before still goes out. */
  close(): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#session.closeEndpoint(this.#endpoint);
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For the session: what the concentrator tells of this endpoint. */
  notice(notice: PortNotice): void {
    if (notice.is === "demand") {
      this.#demand = notice.demand;
      this.#demandListeners.tell(notice.demand);
    } else if (notice.is === "dropped") {
      this.#dropped += notice.events;
    }
  }
}
