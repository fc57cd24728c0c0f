import { type EventsFrame, Few, type Processed } from "@jecho/shared/internal";
import type { ConsumerEndpoint, ProducerEndpoint } from "../endpoints/endpoint.ts";
import { NOBODY, type Outcome, Tally } from "./tally.ts";

/** Names a sent event: its channel, its producer's number there, and its count. */
interface SentEvent {
  readonly channel: number;
  readonly producer: number;
  readonly raised: number;
}

/** An event that was raised here and is not handled by everybody yet. */
interface SynchronousEvent {
  /** The event's producer, or the feed of the modulators that take it here. */
  readonly by: ProducerEndpoint | ConsumerEndpoint;
  readonly raised: number;
  /** Name of the event for modulators. */
  readonly tag: string;
  readonly tally: Tally;
  /** Sent events that were made of it, and that the gateway has not answered. */
  readonly elsewhere: SentEvent[];
}

/** An event that consumers here are handling. */
interface Given {
  readonly channel: number;
  /** Consumers that are not done with it. */
  readonly waiting: ConsumerEndpoint[];
  readonly tally: Tally;
}

interface Leaving {
  readonly consumer: ConsumerEndpoint;
  readonly underWay: Set<Given>;
  readonly done: () => void;
  readonly deadline: ReturnType<typeof setTimeout>;
}

/** Longest wait for a consumer that leaves: as long as modulators stay for one that is cut off. */
const LEAVING_MS = 30_000;

/** Tracks synchronous events: those that were raised here until everybody has handled them, and those that consumers here are handling. */
export class SynchronousEvents {
  /** Events that consumers here are handling, by `keyOf`. */
  readonly #handling = new Few<string, Given>();
  /** Events that were raised here, by tag. */
  readonly #raised = new Few<string, SynchronousEvent>();
  /** Synchronous events that were sent, by `keyOf`, for the gateway's answers. */
  readonly #elsewhere = new Few<string, SynchronousEvent>();
  #nextTag = 1;
  /** Consumers that leave a channel once they have handled its events. */
  readonly #leaving: Leaving[] = [];

  /**
   * Begins to track an event that was raised here, as a run of its own, or came for modulators here. All who are given it are waited for.
   *
   * @param sent the event as it was sent, if it was
   * @param done called when everybody has handled it; by default its producer is told
   * @returns its tag
   */
  begin(
    by: ProducerEndpoint | ConsumerEndpoint,
    raised: number,
    sent?: EventsFrame,
    done = (outcome: Outcome) => by.listener.notify({ is: "processed", endpoint: by.id, raised, outcome }),
  ): string {
    const tag = String(this.#nextTag++);
    const tally = new Tally(2, outcome => {
      this.#raised.delete(tag);
      done(outcome);
    });
    const raising: SynchronousEvent = { by, raised, tag, tally, elsewhere: [] };
    this.#raised.set(tag, raising);
    if (sent !== undefined) this.#sent(raising, sent, 0);
    return tag;
  }

  /** Takes one outcome for the event with this tag. */
  settle(tag: string, outcome: Outcome = NOBODY): void {
    this.#raised.get(tag)?.tally.settle(outcome);
  }

  /** Further modulators are to handle the event with this tag. */
  further(tag: string): void {
    this.#raised.get(tag)?.tally.add();
  }

  /** A modulator made a run of the event with this tag: the run's consumers are waited for, too. */
  derive(tag: string, frame: EventsFrame, sent: boolean): void {
    const raising = this.#raised.get(tag);
    if (raising === undefined) return;
    for (let i = 0; i < frame.count; i++) {
      raising.tally.add();
      if (sent) this.#sent(raising, frame, i);
    }
  }

  #sent(raising: SynchronousEvent, { channel, producer, raised }: EventsFrame, i: number): void {
    raising.tally.add();
    raising.elsewhere.push({ channel, producer, raised: raised + i });
    this.#elsewhere.set(keyOf(channel, producer, raised + i), raising);
  }

  /** The gateway says that all remote consumers have handled an event, or, after `giveUp`, how many have not. */
  answered({ channel, producer, raised, consumers, failed, message, missing }: Processed): void {
    const key = keyOf(channel, producer, raised);
    const raising = this.#elsewhere.get(key);
    if (raising === undefined) return;
    this.#elsewhere.delete(key);
    const { elsewhere } = raising;
    const at = elsewhere.findIndex(
      event => event.channel === channel && event.producer === producer && event.raised === raised,
    );
    elsewhere.splice(at, 1);
    raising.tally.settle({ consumers, failed, message, missing });
  }

  /**
   * A producer stops waiting: missing answers of this process are counted here; the gateway is asked for the others.
   *
   * @returns the events to ask the gateway about
   */
  giveUp(producer: ProducerEndpoint, raised: number): readonly SentEvent[] {
    const raising = [...this.#raised.values()].find(
      event => event.by === producer && event.raised === raised,
    );
    if (raising === undefined) return [];
    const elsewhere = [...raising.elsewhere];
    // Each part that is still open is a consumer or modulator of this process that has not answered.
    for (let here = raising.tally.waiting - elsewhere.length; here > 0; here--)
      raising.tally.settle({ ...NOBODY, missing: 1 });
    return elsewhere;
  }

  /** Hands a run to these consumers. @param handled called for each of its events when all of them have handled it */
  deliver(
    frame: EventsFrame,
    consumers: readonly ConsumerEndpoint[],
    handled: (outcome: Outcome, i: number) => void,
  ): void {
    const { channel, producer, raised, count } = frame;
    for (let i = 0; i < count; i++) {
      const key = keyOf(channel, producer, raised + i);
      const tally = new Tally(consumers.length, outcome => {
        this.#handling.delete(key);
        handled(outcome, i);
      });
      if (consumers.length === 0) continue;
      this.#handling.set(key, { channel, waiting: [...consumers], tally });
    }
  }

  /** A consumer here is done with an event. */
  handled(
    consumer: ConsumerEndpoint,
    channel: number,
    producer: number,
    raised: number,
    outcome: Outcome,
  ): void {
    const given = this.#handling.get(keyOf(channel, producer, raised));
    if (given !== undefined) this.#settle(given, consumer, outcome);
  }

  #settle(given: Given, consumer: ConsumerEndpoint, outcome: Outcome): void {
    settle(given, consumer, outcome);
    if (this.#leaving.length === 0) return;
    for (const leaving of [...this.#leaving]) {
      if (leaving.consumer !== consumer || !leaving.underWay.delete(given) || leaving.underWay.size > 0)
        continue;
      this.#leaving.splice(this.#leaving.indexOf(leaving), 1);
      clearTimeout(leaving.deadline);
      leaving.done();
    }
  }

  /** Calls back when this consumer has handled all events of a channel so far, or after 30 s; not if the connection breaks before. */
  whenDone(consumer: ConsumerEndpoint, channel: number, done: () => void): void {
    const underWay = new Set<Given>();
    for (const given of this.#handling.values())
      if (given.channel === channel && given.waiting.includes(consumer)) underWay.add(given);
    if (underWay.size === 0) return done();
    const deadline = setTimeout(() => {
      for (const given of underWay) this.#settle(given, consumer, NOBODY);
    }, LEAVING_MS);
    this.#leaving.push({ consumer, underWay, done, deadline });
  }

  /** A consumer here has gone: nobody waits for it any more. */
  left(consumer: ConsumerEndpoint): void {
    for (const given of [...this.#handling.values()]) this.#settle(given, consumer, NOBODY);
  }

  /** The connection broke: producers were told, and acknowledgements have no receiver. */
  clear(): void {
    for (const { deadline } of this.#leaving) clearTimeout(deadline);
    this.#leaving.length = 0;
    this.#handling.clear();
    this.#raised.clear();
    this.#elsewhere.clear();
  }
}

function settle({ waiting, tally }: Given, consumer: ConsumerEndpoint, outcome: Outcome): void {
  const at = waiting.indexOf(consumer);
  if (at < 0) return;
  waiting.splice(at, 1);
  tally.settle(outcome);
}

/** Names an event as it was sent. */
function keyOf(channel: number, producer: number, raised: number): string {
  return `${channel}/${producer}/${raised}`;
}
