import type { EventsFrame, Processed } from "@jecho/shared/internal";
import { NOBODY, type Outcome, Tally } from "./tally.ts";

/** Keeps track of synchronous events: which were raised here and wait for whom, and which consumers here are at. */
export class SynchronousEvents {
  readonly #processed: (endpoint: number, raised: number, outcome: Outcome) => void;
  /** Events that consumers here are handling, by channel, producer and count. */
  readonly #handling = new Tally();
  /** Events that were raised here, by endpoint and count. */
  readonly #raised = new Tally();
  /** Which event that was raised here an answer of the gateway belongs to, by channel, producer and count. */
  readonly #elsewhere = new Map<string, string>();

  /** @param processed called when everybody has handled an event that was raised here */
  constructor(processed: (endpoint: number, raised: number, outcome: Outcome) => void) {
    this.#processed = processed;
  }

  /**
   * An event was raised here, as a run of its own. It is waited for here, at the modulators, and elsewhere where it was sent.
   *
   * @returns its name
   */
  begin(endpoint: number, frame: EventsFrame, sent: boolean): string {
    const { channel, producer, raised } = frame;
    const name = `${endpoint} ${raised}`;
    this.#raised.begin(name, sent ? 3 : 2, outcome => this.#processed(endpoint, raised, outcome));
    if (sent) this.#elsewhere.set(keyOf(channel, producer, raised), name);
    return name;
  }

  /** One of those that are waited for is done with the event of that name. */
  settle(name: string, outcome: Outcome = NOBODY): void {
    this.#raised.settle(name, outcome);
  }

  /** A modulator made a run of the event of that name: its consumers here, and elsewhere where it was sent, are waited for, too. */
  derive(name: string, frame: EventsFrame, sent: boolean): void {
    const { channel, producer, raised, count } = frame;
    for (let i = 0; i < count; i++) {
      this.#raised.add(name);
      if (!sent) continue;
      this.#raised.add(name);
      this.#elsewhere.set(keyOf(channel, producer, raised + i), name);
    }
  }

  /** The gateway says that everybody elsewhere has handled an event of ours. */
  answered({ channel, producer, raised, consumers, failed, message }: Processed): void {
    const key = keyOf(channel, producer, Number(raised));
    const name = this.#elsewhere.get(key);
    this.#elsewhere.delete(key);
    if (name !== undefined) this.settle(name, { consumers, failed, message });
  }

  /** So many consumers here get a run. @param handled called for each of its events when all of them have handled it */
  deliver(frame: EventsFrame, consumers: number, handled: (outcome: Outcome, i: number) => void): void {
    const { channel, producer, raised, count } = frame;
    for (let i = 0; i < count; i++) {
      this.#handling.begin(keyOf(channel, producer, raised + i), consumers, outcome => handled(outcome, i));
    }
  }

  /** One consumer here is done with an event. */
  handled(channel: number, producer: number, raised: number, outcome: Outcome): void {
    this.#handling.settle(keyOf(channel, producer, raised), outcome);
  }

  /** The connection broke: who raised them was told, and nobody takes an acknowledgement any more. */
  clear(): void {
    this.#handling.clear();
    this.#raised.clear();
    this.#elsewhere.clear();
  }
}

function keyOf(channel: number, producer: number, raised: number): string {
  return `${channel} ${producer} ${raised}`;
}
