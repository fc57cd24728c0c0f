import type { EventsFrame } from "@jecho/shared/internal";
import type { ConsumerEndpoint, ProducerEndpoint } from "../concentrator/endpoint.ts";
import type { EndpointIndex } from "../concentrator/endpoint-index.ts";
import type { Hold } from "../concentrator/hold.ts";
import { Kept } from "../concentrator/kept.ts";
import type { Lane, OwnLanes } from "../concentrator/lane.ts";
import type { Outbox } from "../concentrator/outbox.ts";
import type { Reception } from "../concentrator/reception.ts";
import type { SynchronousEvents } from "../concentrator/synchronous.ts";
import type { Feeds } from "./feeds.ts";
import type { Installation } from "./installation.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly lanes: OwnLanes;
  readonly outbox: Outbox;
  readonly hold: Hold;
  readonly reception: Reception;
  readonly feeds: Feeds;
  readonly synchronous: SynchronousEvents;
}

/** Counts what modulators here make, and gives it to the consumers of this process and, where somebody elsewhere listens, to the gateway. */
export class Deriving {
  readonly #entries: EndpointIndex;
  readonly #lanes: OwnLanes;
  readonly #outbox: Outbox;
  readonly #hold: Hold;
  readonly #reception: Reception;
  readonly #feeds: Feeds;
  readonly #synchronous: SynchronousEvents;
  readonly #kept = new Kept();

  constructor({ index, lanes, outbox, hold, reception, feeds, synchronous }: Parts) {
    this.#entries = index;
    this.#lanes = lanes;
    this.#outbox = outbox;
    this.#hold = hold;
    this.#reception = reception;
    this.#feeds = feeds;
    this.#synchronous = synchronous;
  }

  /**
   * A modulator made a run.
   *
   * @param frame the run, alone in its memory
   * @param raising names the synchronous event that it was made of, if of one
   */
  made(installation: Installation, frame: EventsFrame, raising: string | undefined): void {
    if (installation.process === 0) this.#madeOfOwn(installation, frame, raising);
    else this.#madeInstead(installation, frame, raising);
  }

  #madeOfOwn(installation: Installation, frame: EventsFrame, raising: string | undefined): void {
    const producer = this.#producerOf(installation, frame.producer);
    if (producer === undefined) return;
    const lane = this.laneOf(installation, producer.endpoint, frame.isUrgent);
    count(frame, lane);
    frame.readdress(installation.number, producer.number);
    if (installation.number === 0 || this.#hold.isHeld(installation)) {
      frame.forgetSync();
      this.#outbox.hold(lane, frame);
      return;
    }
    this.#handOut(installation, frame, lane, raising);
    this.#feeds.raised(frame, frame.isSync ? raising : undefined);
  }

  /** Whose it is. What was held may come after its producer has gone, and what a period makes is nobody's. */
  #producerOf({ base }: Installation, number: number): ProducerEndpoint | undefined {
    let first: ProducerEndpoint | undefined;
    for (const producer of this.#entries.producersNamed(base)) {
      if (producer.number === number) return producer;
      first ??= producer;
    }
    return this.#entries.producerOf(number) ?? first;
  }

  /** Of what another process raised. */
  #madeInstead(installation: Installation, frame: EventsFrame, raising: string | undefined): void {
    const { producers, number, own } = installation;
    const producer = frame.producer || (producers[0] ?? 0);
    const lane = this.laneOf(installation, producer, frame.isUrgent);
    count(frame, lane);
    frame.readdress(number, producer);
    // Consumers here may be expected back. Those elsewhere are served by another process by now.
    if (own && this.#entries.isAnyAway()) this.#kept.add(installation, frame, lane);
    if (number !== 0) this.#handOut(installation, frame, lane, raising);
  }

  #handOut({ elsewhere }: Installation, frame: EventsFrame, lane: Lane, raising: string | undefined): void {
    lane.channel = frame.channel;
    lane.producer = frame.producer;
    const { channel, raised } = frame;
    const isOwn = !this.#reception.takes(channel) && !this.#feeds.isFed(channel);
    const sent = elsewhere > 0 && this.#outbox.gather(frame.raw(), [{ lane, raised }], isOwn);
    if (raising === undefined || !frame.isSync) {
      this.#reception.raised(frame, lane);
      return;
    }
    this.#synchronous.derive(raising, frame, sent);
    this.#reception.raised(frame, lane, outcome => this.#synchronous.settle(raising, outcome));
  }

  /** Hands a consumer that is back what was made here meanwhile; when all are back, nothing more is kept. */
  handKept(entry: ConsumerEndpoint): void {
    for (const { frame, lane } of this.#kept.of(entry)) this.#reception.raisedBefore(entry, frame, lane);
    if (!this.#entries.isAnyAway()) this.#kept.clear();
  }

  /** @param producer its endpoint, or, of another process, its number at the gateway */
  laneOf({ lanes }: Installation, producer: number, urgent: boolean): Lane {
    let pair = lanes.get(producer);
    if (pair === undefined) {
      pair = this.#lanes.create();
      lanes.set(producer, pair);
    }
    return pair.of(urgent);
  }
}

function count(frame: EventsFrame, lane: Lane): void {
  frame.recount(lane.raised + 1);
  lane.raised += frame.count;
}
