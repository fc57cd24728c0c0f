import { splitName } from "@jecho/shared";
import {
  type ConsumerEndpoint,
  type CopyEndpoint,
  type Endpoint,
  openStateOf,
  type ProducerEndpoint,
  type StateIndexes,
} from "./endpoint.ts";
import {
  AWAY,
  type ConsumerState,
  comingOf,
  type EndpointState,
  type OpenConsumerState,
  type ProducerState,
} from "./endpoint-states.ts";

const ARE_AWAY = ["away", "resting", "retrying"];

/** An index that follows the states of consumers. */
export interface ConsumerIndexes {
  /** A consumer has come to a channel, has left one, or both. */
  moved(
    consumer: ConsumerEndpoint,
    before: OpenConsumerState | undefined,
    after: OpenConsumerState | undefined,
  ): void;
}

/** Finds the endpoints of a process by their channels' names and, as their states say, by unanswered requests and by present numbers. */
export class EndpointIndex implements StateIndexes {
  readonly #further: readonly ConsumerIndexes[];
  readonly #all = new Set<Endpoint>();
  readonly #producersNamed = new Map<string, Set<ProducerEndpoint>>();
  /** Producers by the source of their events. */
  readonly #bySource = new Map<bigint, ProducerEndpoint>();
  /** Endpoints that wait for the gateway's answer, by request. */
  readonly #asked = new Map<number, Endpoint>();
  /** Open endpoints by number. */
  readonly #open = new Map<number, Endpoint>();
  /** Consumers that were asked for behind a place, by their channel: what is raised here until they are open waits for them. */
  readonly owed = new Map<string, Set<ConsumerEndpoint>>();
  /** Producers by their channel's number. */
  readonly #producers = new Map<number, Set<ProducerEndpoint>>();

  constructor(...further: ConsumerIndexes[]) {
    this.#further = further;
  }

  [Symbol.iterator](): Iterator<Endpoint> {
    return this.#all.values();
  }

  add(endpoint: Endpoint): void {
    this.#all.add(endpoint);
    if (endpoint.is !== "producer") return;
    enter(this.#producersNamed, endpoint.channel, endpoint);
    this.#bySource.set(sourceOf(endpoint), endpoint);
  }

  #remove(endpoint: Endpoint): void {
    this.#all.delete(endpoint);
    endpoint.port.endpoints.delete(endpoint.id);
    if (endpoint.is !== "producer") return;
    leave(this.#producersNamed, endpoint.channel, endpoint);
    this.#bySource.delete(sourceOf(endpoint));
  }

  changed(endpoint: Endpoint, before: EndpointState): void {
    const { state } = endpoint;
    move(this.#asked, endpoint, requestOf(before), requestOf(state));
    // The next modulator's number becomes the consumer's.
    move(this.#open, endpoint, comingNumberOf(before), comingNumberOf(state));
    move(this.#open, endpoint, numberOf(before), numberOf(state));
    if (before.is === "retrying") clearTimeout(before.timer);
    if (endpoint.is === "producer") this.#movedProducer(endpoint, before as ProducerState);
    else if (endpoint.is === "consumer") {
      (isOwed(endpoint) ? enter : leave)(this.owed, endpoint.channel, endpoint);
      const [left, entered] = [openStateOf(before as ConsumerState), endpoint.open];
      if (left !== entered) for (const index of this.#further) index.moved(endpoint, left, entered);
    }
    if (state.is === "gone") this.#remove(endpoint);
  }

  #movedProducer(producer: ProducerEndpoint, before: ProducerState): void {
    const left = "channelNumber" in before ? before.channelNumber : undefined;
    const entered = producer.open?.channelNumber;
    if (left === entered) return;
    if (left !== undefined) leave(this.#producers, left, producer);
    if (entered !== undefined) enter(this.#producers, entered, producer);
  }

  /** The producers of the channel of this name. */
  producersNamed(channel: string): Iterable<ProducerEndpoint> {
    return this.#producersNamed.get(channel) ?? [];
  }

  /** The producer here whose events are of this source. */
  producerOfSource(source: bigint): ProducerEndpoint | undefined {
    return this.#bySource.get(source);
  }

  /** The schema of the type with this token, where a producer here writes it. */
  schemaOf(token: bigint): Uint8Array | undefined {
    for (const endpoint of this.#all)
      if (endpoint.is === "producer" && endpoint.token === token) return endpoint.schema;
    return undefined;
  }

  /** The endpoint that waits for the gateway's answer to this request. */
  asked(request: number): Endpoint | undefined {
    return this.#asked.get(request);
  }

  /** The producers of the channel that has this number at the present connection, if there are any. */
  producersOf(channel: number): ReadonlySet<ProducerEndpoint> | undefined {
    return this.#producers.get(channel);
  }

  /** The producer that has this number at the present connection. */
  producerOf(number: number): ProducerEndpoint | undefined {
    const found = this.#open.get(number);
    return found?.is === "producer" ? found : undefined;
  }

  /** The consumer that has this number at the present connection. */
  consumerOf(number: number): ConsumerEndpoint | undefined {
    const found = this.#open.get(number);
    return found?.is === "consumer" ? found : undefined;
  }

  /** The copy that has this number at the present connection. */
  copyOf(number: number): CopyEndpoint | undefined {
    const found = this.#open.get(number);
    return found?.is === "object" ? found : undefined;
  }

  /** Whether the channel, or one derived from it, has consumers. They may be away. */
  isConsumed(base: string): boolean {
    for (const endpoint of this.#all) {
      if (endpoint.is !== "consumer" || !endpoint.isApplications) continue;
      if (splitName(endpoint.channel).base === base) return true;
    }
    return false;
  }

  /** Whether an application's consumer is away, or owed something. */
  isAnyAway(): boolean {
    if (this.owed.size > 0) return true;
    for (const endpoint of this.#all)
      if (endpoint.is === "consumer" && endpoint.isApplications && ARE_AWAY.includes(endpoint.state.is))
        return true;
    return false;
  }

  /** Whether there is a producer whose events do not count yet. */
  isAnyProducerAway(): boolean {
    for (const endpoint of this.#all.values())
      if (endpoint.is === "producer" && endpoint.state.is !== "live") return true;
    return false;
  }

  /** The connection broke, with its numbers and requests. @returns what was open */
  interrupted(): Endpoint[] {
    const wereOpen: Endpoint[] = [];
    for (const endpoint of this.#all) {
      if (endpoint.open !== undefined) wereOpen.push(endpoint);
      interrupt(endpoint);
    }
    return wereOpen;
  }
}

function interrupt(endpoint: Endpoint): void {
  const { state } = endpoint;
  switch (state.is) {
    case "live":
    case "replaying":
      return endpoint.become(AWAY);
    case "asked":
    case "retrying":
    case "installing":
      // Only consumers rest.
      return (endpoint as ConsumerEndpoint).become(state.after);
    default:
  }
}

/** Whether the consumer was asked for behind a place. */
function isOwed({ state, from, isApplications }: ConsumerEndpoint): boolean {
  return state.is === "asked" && isApplications && (state.after.is !== "new" || from !== undefined);
}

function sourceOf({ lanes }: ProducerEndpoint): bigint {
  return lanes.usual.source.id;
}

/** The request whose answer an endpoint waits for. */
export function requestOf(state: EndpointState): number | undefined {
  const { awaits } = state.is === "asked" ? state : (("change" in state ? state.change : undefined) ?? {});
  return awaits !== undefined && "request" in awaits ? awaits.request : undefined;
}

function numberOf(state: EndpointState): number | undefined {
  return "number" in state ? state.number : undefined;
}

function comingNumberOf(state: EndpointState): number | undefined {
  return "change" in state ? comingOf(state)?.number : undefined;
}

function move<K, E>(index: Map<K, E>, endpoint: E, before: K | undefined, after: K | undefined): void {
  if (before === after) return;
  if (before !== undefined) index.delete(before);
  if (after !== undefined) index.set(after, endpoint);
}

function enter<K, E>(sets: Map<K, Set<E>>, key: K, endpoint: E): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([endpoint]));
  else set.add(endpoint);
}

function leave<K, E>(sets: Map<K, Set<E>>, key: K, endpoint: E): void {
  const set = sets.get(key);
  set?.delete(endpoint);
  if (set?.size === 0) sets.delete(key);
}
