import { splitName } from "@jecho/shared";
import type { Modulation } from "../../modulation/modulation.ts";
import type { ProducerEndpoint } from "../endpoints/endpoint.ts";
import { type EndpointIndex, requestOf } from "../endpoints/endpoint-index.ts";
import type { Openings } from "../endpoints/openings.ts";
import type { Link } from "../link.ts";
import type { Outbox } from "./outbox.ts";

/** Parts that departures use. */
interface DeparturesParts {
  readonly index: EndpointIndex;
  readonly link: Link;
  readonly openings: Openings;
  readonly modulation: Modulation;
  readonly outbox: Outbox;
}

/** A closed producer and its last counts. */
interface Departure {
  readonly channel: string;
  readonly source: bigint;
  readonly raised: bigint;
  readonly raisedUrgent: bigint;
  readonly at: number;
  /** The opening whose answer it did not wait for. */
  readonly request: number | undefined;
}

/** Time after which nobody waits for a closed producer's events any more, and most producers that are remembered. */
const TOLD_MS = 60_000;
const MOST_TOLD = 1024;

/** Closes producers, and tells the next gateway their last counts for a while: one that is killed may have confirmed events without sending them on. */
export class Departures {
  readonly #parts: DeparturesParts;
  /** Producers that raise nothing more, each until it has gone. */
  readonly #leaving = new Map<ProducerEndpoint, Promise<void>>();
  /** Last periods that are still to be called, by channel. */
  readonly #ending = new Map<string, Promise<void>>();
  #all: Departure[] = [];

  constructor(parts: DeparturesParts) {
    this.#parts = parts;
  }

  /** Closes a producer whose events are out. @param through resolves when they have been through the modulators here, and are taken */
  leave(producer: ProducerEndpoint, through: () => Promise<void>): void {
    const { openings, modulation, outbox } = this.#parts;
    const { channel, lanes } = producer;
    const close = (): void => {
      this.#leaving.delete(producer);
      if (producer.state.is === "gone") return;
      // Nobody else can tell consumers that come back of events that were not sent, as nobody listened.
      for (const lane of lanes) if (lane.isBegun && !lane.isPlaced) outbox.place(lane);
      openings.close(producer);
    };
    // Modulators' output is counted by the producer, and a connection that breaks gives unconfirmed runs back to it.
    if (!modulation.takes(channel) && !outbox.owes(lanes)) close();
    else this.#leaving.set(producer, this.#last(channel, through).then(close));
  }

  /** Modulators that no other producer feeds get a last period behind the events, one for all producers that leave together. */
  async #last(channel: string, through: () => Promise<void>): Promise<void> {
    await through();
    if (!this.#isLeft(channel)) return;
    let ending = this.#ending.get(channel);
    if (ending === undefined) {
      ending = this.#endPeriods(channel, through);
      this.#ending.set(channel, ending);
    }
    await ending;
  }

  async #endPeriods(channel: string, through: () => Promise<void>): Promise<void> {
    const { index, modulation } = this.#parts;
    const areSeveral = [...index.producersNamed(channel)].length > 1;
    // The others' last events may not have been through yet.
    await (areSeveral ? through() : undefined);
    this.#ending.delete(channel);
    if (this.#isLeft(channel) && modulation.runs.endPeriods(channel)) await through();
  }

  /** Whether all producers of a channel leave. */
  #isLeft(channel: string): boolean {
    for (const producer of this.#parts.index.producersNamed(channel))
      if (!this.#leaving.has(producer)) return false;
    return true;
  }

  /** Resolves when the producers that are being closed have gone. */
  async gone(): Promise<void> {
    await Promise.all(this.#leaving.values());
  }

  /** A producer ends, closed or refused. */
  add({ channel, lanes: { usual, urgent }, state, open }: ProducerEndpoint): void {
    if (usual.raised + urgent.raised === 0) return;
    const [raised, raisedUrgent] = [BigInt(usual.raised), BigInt(urgent.raised)];
    const [source, at] = [usual.source.id, performance.now()];
    const departure = { channel, source, raised, raisedUrgent, at, request: requestOf(state) };
    this.#all.push(departure);
    if (this.#all.length > MOST_TOLD) this.#all.shift();
    // The gateway takes no position of one that it has not open, nor on a derived channel's name while nobody derives that.
    if (open === undefined || splitName(channel).derived !== "") this.#say(departure);
  }

  /** The gateway closes a producer again that was closed before it was open: only now that has ended there. */
  declined(request: number): void {
    for (const departure of this.#all) if (departure.request === request) this.#say(departure);
  }

  #say({ at, request, ...counts }: Departure): void {
    const agoMs = Math.ceil(performance.now() - at);
    this.#parts.link.send({ kind: "Departed", agoMs, ...counts });
  }

  /** Tells the gateway of a new connection. */
  tell(): void {
    const now = performance.now();
    this.#all = this.#all.filter(({ at }) => now - at < TOLD_MS);
    for (const departure of this.#all) this.#say(departure);
  }
}
