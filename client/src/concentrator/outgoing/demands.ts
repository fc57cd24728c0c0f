import type { Demand, EventsFrame } from "@jecho/shared/internal";
import type { Installation } from "../../modulation/installation.ts";
import type { Modulation } from "../../modulation/modulation.ts";
import type { DerivedDemand, Demand as ProducerDemand, StateOfReaders } from "../../producer/demand.ts";
import type { ProducerEndpoint } from "../endpoints/endpoint.ts";
import type { EndpointIndex } from "../endpoints/endpoint-index.ts";
import type { Reception } from "../incoming/reception.ts";
import type { Routes } from "../incoming/routes.ts";
import type { Hold } from "./hold.ts";
import type { Lane, Lanes } from "./lane.ts";
import type { Outbox } from "./outbox.ts";

/** Parts that demands use. */
interface DemandsParts {
  readonly index: EndpointIndex;
  readonly modulation: Modulation;
  readonly routes: Routes;
  readonly reception: Reception;
  readonly outbox: Outbox;
  readonly hold: Hold;
}

/** The gateway's notice about a channel or derived channel. */
type Told = Pick<Demand, "channel" | "consumers" | "unheard">;

/** Number of a channel's modulators up to which each change of its demand is told at once: telling names all of them. */
const MOST_AT_ONCE = 64;
/** Time between two tellings where there are more, for each modulator. */
const PAUSE_MS = 0.02;

/** Tracks the demand for what is raised and made here: of consumers elsewhere, as the gateway says, and of those of this process. */
export class Demands {
  readonly #parts: DemandsParts;
  /** Channels whose demand was told a moment ago, and whether it has changed since. */
  readonly #pausing = new Map<string, boolean>();

  readonly #onOpened: (producer: ProducerEndpoint) => void;

  /** @param onOpened told of a producer whose events count from now on */
  constructor(parts: DemandsParts, onOpened: (producer: ProducerEndpoint) => void) {
    this.#parts = parts;
    this.#onOpened = onOpened;
  }

  /** Takes the number of remote consumers of a channel or derived channel. */
  told(demand: Told): void {
    // What is derived may be made here, and published here as well.
    this.#toldOfDerived(demand);
    for (const producer of this.#parts.index.producersOf(demand.channel) ?? [])
      this.#toldOfProducer(producer, demand);
  }

  #toldOfProducer(producer: ProducerEndpoint, { consumers, unheard }: Told): void {
    const begins = producer.elsewhere === 0 || this.#parts.hold.isHolding;
    producer.elsewhere = consumers;
    producer.unheard = unheard;
    // The first word on demand says that all modulators are installed: the producer's events count.
    const { state } = producer;
    if (state.is === "installing") {
      producer.become({ is: "live", number: state.number, channelNumber: state.channelNumber });
      this.#onOpened(producer);
      const source = producer.usual.source.id;
      producer.listener.notify({ is: "opened", endpoint: producer.id, reset: 0, source });
    }
    this.#resumeOrRest(producer.lanes, consumers, begins, (lane, runs) =>
      this.#handAgain(producer, lane, runs),
    );
    if (consumers > 0) this.#parts.hold.back(producer);
    this.tell(producer.channel);
  }

  /** Consumers here that began in the past get what a broken connection may have lost, for the gateway's past lacks it. Others have had it. */
  #handAgain({ channel, channelNumber }: ProducerEndpoint, lane: Lane, runs: readonly EventsFrame[]): void {
    const owed = this.#parts.index.owed.get(channel) ?? [];
    for (const consumer of [...owed, ...this.#parts.routes.membersOf(channelNumber)]) {
      const { isApplications, modulator, from } = consumer;
      if (!isApplications || modulator !== undefined || from === undefined) continue;
      for (const run of runs) this.#parts.reception.raisedBefore(consumer, run, lane);
    }
  }

  #toldOfDerived({ channel, consumers, unheard }: Told): void {
    this.#toldInstead(channel, consumers);
    const installation = this.#parts.modulation.installed.ofNumber(channel);
    if (installation === undefined) return;
    const begins = !installation.isTold || installation.elsewhere === 0 || this.#parts.hold.isHolding;
    installation.isTold = true;
    installation.elsewhere = consumers;
    installation.unheard = unheard;
    this.#resumeOrRestFormer(installation, consumers, begins);
    for (const name of this.#parts.modulation.installed.sourcesOf(installation))
      for (const producer of this.#parts.index.producersNamed(name)) {
        const lanes = installation.lanes.get(producer.lanes.usual.source.id);
        if (lanes === undefined || producer.open === undefined) continue;
        if (begins) lanes.address(channel, producer.open.number);
        this.#resumeOrRest(lanes, consumers, begins);
      }
    if (consumers > 0) this.#parts.hold.back(installation);
    this.#tellOf(installation);
  }

  /** Takes that number for modulators that run here in the stead of other processes, unless they run for the consumers here alone. */
  #toldInstead(channel: number, consumers: number): void {
    for (const installation of this.#parts.modulation.installed) {
      if (installation.number !== channel || installation.process === 0 || installation.own) continue;
      const begins = installation.elsewhere === 0;
      installation.isTold = true;
      installation.elsewhere = consumers;
      this.#resumeOrRestFormer(installation, consumers, begins);
      for (const lanes of installation.lanes.values()) this.#resumeOrRest(lanes, consumers, begins);
    }
  }

  /** Updates the demand for the output of an incarnation before, of which something is still to be sent. */
  #resumeOrRestFormer(installation: Installation, consumers: number, begins: boolean): void {
    if (!begins) return;
    // What is sent again is kept until it is confirmed: the connection may break once more.
    installation.former = installation.former.filter(lanes => lanes.owe);
    for (const lanes of installation.former) {
      const source = lanes.usual.origin ?? lanes.urgent.origin;
      const raising = source && this.#parts.index.producerOfSource(source.id);
      // Those of other processes have their numbers from their feed.
      if (raising?.open !== undefined) lanes.address(installation.number, raising.open.number);
      this.#resumeOrRest(lanes, consumers, begins);
    }
  }

  /** Sends again what the lanes hold where somebody begins to listen. Where nobody listens, their position is to be said anew. */
  #resumeOrRest(
    lanes: Lanes,
    consumers: number,
    begins: boolean,
    sent: (lane: Lane, runs: readonly EventsFrame[]) => void = () => {},
  ): void {
    for (const lane of lanes) {
      if (consumers === 0) {
        lane.isPlaced = false;
        // Whoever comes later lacks nothing before.
        lane.leftAt = undefined;
      } else if (begins && lane.isBegun && lane.isAddressed) {
        const runs = this.#parts.outbox.resume(lane);
        if (runs.length > 0) sent(lane, runs);
      }
    }
  }

  /** Tells a channel's producers here what is wanted of them, by all. */
  tell(base: string): void {
    if (this.#pausing.has(base)) {
      this.#pausing.set(base, true);
      return;
    }
    const derived = this.#parts.modulation.derivedOf(base, number => this.#parts.routes.consumersOf(number));
    for (const producer of this.#parts.index.producersNamed(base)) {
      const { id: endpoint, listener, channelNumber, elsewhere, unheard } = producer;
      const here = this.#parts.routes.consumersOf(channelNumber);
      listener.notify({ is: "demand", endpoint, demand: wantedOf(elsewhere - unheard + here, derived) });
    }
    if (derived.length > MOST_AT_ONCE) this.#pause(base, PAUSE_MS * derived.length);
  }

  #pause(base: string, ms: number): void {
    this.#pausing.set(base, false);
    const timer = setTimeout(() => {
      const isChanged = this.#pausing.get(base);
      this.#pausing.delete(base);
      if (isChanged) this.tell(base);
    }, ms);
    (timer as { unref?: () => void }).unref?.();
  }

  /** Tells them of a shared object that modulators of the channel read. */
  tellState(base: string, { readers, state }: StateOfReaders): void {
    for (const { id: endpoint, listener } of this.#parts.index.producersNamed(base))
      listener.notify({ is: "state", endpoint, readers, state });
  }

  /** A consumer here has left a channel or derived channel. */
  left(channel: number): void {
    for (const producer of this.#parts.index.producersOf(channel) ?? []) this.tell(producer.channel);
    const installation = this.#parts.modulation.installed.ofNumber(channel);
    if (installation !== undefined) this.#tellOf(installation);
  }

  #tellOf(installation: Installation): void {
    for (const name of this.#parts.modulation.installed.sourcesOf(installation)) this.tell(name);
  }

  /** Producers and installations here that have consumers anywhere. @param isFed whether modulators here take this channel by a feed */
  wanted(isFed: (channel: number) => boolean): (ProducerEndpoint | Installation)[] {
    const wanted: (ProducerEndpoint | Installation)[] = [];
    const isWanted = (elsewhere: number, channel: number): boolean =>
      elsewhere > 0 || this.#parts.routes.consumersOf(channel) > 0 || isFed(channel);
    for (const endpoint of this.#parts.index)
      if (endpoint.is === "producer" && isWanted(endpoint.elsewhere, endpoint.channelNumber))
        wanted.push(endpoint);
    for (const installation of this.#parts.modulation.installed)
      if (installation.process === 0 && isWanted(installation.elsewhere, installation.number))
        wanted.push(installation);
    return wanted;
  }

  /** Called when nobody is expected back: producers that are not open again have consumers here alone. */
  nobodyBack(): void {
    for (const endpoint of this.#parts.index) {
      if (endpoint.is !== "producer" || endpoint.state.is === "live") continue;
      endpoint.elsewhere = 0;
      endpoint.unheard = 0;
      for (const lane of endpoint.lanes) lane.takeUnconfirmed();
      this.tell(endpoint.channel);
    }
    for (const installation of this.#parts.modulation.installed) {
      if (installation.isTold || installation.process !== 0) continue;
      installation.isTold = true;
      installation.elsewhere = 0;
      installation.unheard = 0;
    }
  }
}

function wantedOf(consumers: number, derived: readonly DerivedDemand[]): ProducerDemand {
  let total = consumers;
  let mostPerSecond = consumers > 0 ? Number.POSITIVE_INFINITY : 0;
  for (const channel of derived) {
    total += channel.consumers;
    if (channel.consumers > 0) mostPerSecond = Math.max(mostPerSecond, channel.mostPerSecond);
  }
  return { consumers, derived, total, mostPerSecond };
}
