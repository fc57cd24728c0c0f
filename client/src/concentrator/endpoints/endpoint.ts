import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import { type JechoError, splitName } from "@jecho/shared";
import {
  type EventsFrame,
  type Feed,
  type HeldPlace,
  type History,
  type Modulator,
  type NumberTable,
  type OpenConsumer,
  type Place,
  type Queue,
  WHEN_FULL,
} from "@jecho/shared/internal";
import type { ControlRequest, PortListener } from "../../places/port.ts";
import { Postponed } from "../incoming/postponed.ts";
import type { CountedPlace } from "../incoming/reception.ts";
import type { Counting } from "../incoming/routes.ts";
import type { Successor } from "../incoming/successor.ts";
import type { TrackedSource } from "../incoming/tracked-source.ts";
import { Tracker } from "../incoming/tracking.ts";
import type { Lane, Lanes } from "../outgoing/lane.ts";
import {
  CONSUMER_TRANSITIONS,
  COPY_TRANSITIONS,
  type ConsumerState,
  type CopyState,
  comingOf,
  type EndpointState,
  type LiveCopy,
  NEW,
  type OpenConsumerState,
  type OpenProducerState,
  PRODUCER_TRANSITIONS,
  type ProducerState,
  type Reset,
  type Transitions,
} from "./endpoint-states.ts";

/** Takes what comes for a consumer of this process that is no application's. */
export interface InputTaker {
  /**
   * A run came, of which the events before `first` were had before.
   *
   * @param missing so many events before the run never came
   */
  take(frame: EventsFrame, first: number, of: Counting | undefined, missing: number): void;
  /** The fate of a source's events up to this place is known. @param missing so many of them never came */
  placed(at: CountedPlace, missing: number): void;
  /** Input was dropped: this process was too slow. Default: what is missing says it. */
  dropped?(events: number): void;
}

/** The place of a derived source behind which its channel's output is a consumer's; without a source for what nobody counts. */
export interface PastEnd {
  readonly of: Counting | undefined;
  readonly raised: number;
  readonly through: number;
}

/** The past that this process makes for a consumer with a modulator, before that is handed what its derived channel brings. */
export interface OwnPast {
  /** Whether the application has been told that the consumer is open. */
  readonly isTold: boolean;
  /** Whether it lies behind a place: the consumer's next modulator comes after it. */
  readonly isOwed: boolean;
  /** The derived channel accounts for a raw source's events behind this place; what was said of it first holds. */
  begins(at: PastEnd): void;
  /** Count of the newest event of a raw source that the modulator here was given, or that came before; undefined where that is not known. */
  reached(source: TrackedSource): number | undefined;
  /** The modulator that is the consumer's alone made a run of this raw source, which is counted. */
  made(frame: EventsFrame, lane: Lane, source: bigint): void;
  /** Called when the modulator has ended. */
  failed(error: JechoError): void;
  /** Called when nobody wants the modulator's output any more. */
  end(): void;
}

/** A session at its concentrator: its listener, and its endpoints by the numbers that it gave them, until they are gone. */
export interface PortEnd {
  readonly endpoints: NumberTable<Endpoint>;
  readonly listener: PortListener;
  /** Ends an application's session here. Feeds of modulators have no session. */
  close?(): unknown;
}

/** Indexes that find endpoints by their states. */
export interface StateIndexes {
  /** An endpoint's state has changed. */
  changed(endpoint: Endpoint, before: EndpointState): void;
}

type Request<Is extends ControlRequest["is"]> = Omit<Extract<ControlRequest, { is: Is }>, "is">;

/** The request of a consumer of raw events that is no application's. */
export const RAW = {
  endpoint: 0,
  schema: new Uint8Array(0),
  modulator: undefined,
  queue: { whenFull: WHEN_FULL["drop-oldest"], limitBytes: 0 },
  label: "",
  as: "",
  from: undefined,
} as const;

/** Token of all untyped channels: one object in one place in memory. */
const UNTYPED = 0n;

/** The core of an endpoint: its state, which `become` alone changes. */
abstract class Stateful<State extends EndpointState> {
  #state: State = NEW as State;
  readonly #transitions: Transitions<State>;
  readonly #indexes: StateIndexes;
  readonly port: PortEnd;
  /** The endpoint's number at its port. */
  readonly id: number;

  constructor(transitions: Transitions<State>, indexes: StateIndexes, port: PortEnd, id: number) {
    this.#transitions = transitions;
    this.#indexes = indexes;
    this.port = port;
    this.id = id;
  }

  /** The session's listener. */
  get listener(): PortListener {
    return this.port.listener;
  }

  get state(): State {
    return this.#state;
  }

  /**
   * Changes the state, and with it all indexes.
   *
   * @throws Error where that state cannot follow: a fault of this library
   */
  become(next: State): void {
    const before = this.#state;
    const following: readonly string[] = this.#transitions[before.is as State["is"]];
    if (!following.includes(next.is))
      throw new Error(`an endpoint that is ${before.is} cannot be ${next.is}`);
    this.#state = next;
    this.changed(before);
    this.#indexes.changed(this as unknown as Endpoint, before);
  }

  /** Has what depends on the state follow it, before the indexes do. */
  protected changed(_before: State): void {}
}

/** A producer of this process, as its concentrator knows it. */
export class ProducerEndpoint extends Stateful<ProducerState> {
  // Fields that each run needs come first, so that they lie together in memory.
  /** Number of remote consumers. */
  elsewhere = 0;
  /** The lane of `lanes` for events that are not urgent. */
  readonly usual: Lane;
  #channelNumber = 0;
  #number = 0;
  /** The type that it writes; 0n on an untyped channel. */
  readonly token: bigint;
  readonly channel: string;
  readonly is = "producer";
  /** Counts of its events, which go on over connections. */
  readonly lanes: Lanes;
  readonly schema: Uint8Array;
  /** Offers of the producer's delegate to modulators, if there is one. */
  readonly offers: readonly Offer[] | undefined;
  /** The newest views of its state, by name. */
  readonly context: Map<string, Value>;
  /** The history that the gateway is to keep of its channel. */
  readonly history: History;
  readonly key: string;
  /** Number of remote consumers that are modulators without consumers yet. */
  unheard = 0;

  constructor(request: Request<"openProducer">, port: PortEnd, lanes: Lanes, indexes: StateIndexes) {
    super(PRODUCER_TRANSITIONS, indexes, port, request.endpoint);
    const { token, channel, schema, offers, context, history, key } = request;
    this.usual = lanes.usual;
    // An object from another thread lies apart in memory.
    this.token = token === UNTYPED ? UNTYPED : token;
    this.channel = channel;
    this.lanes = lanes;
    this.schema = schema;
    this.offers = offers;
    this.context = new Map(context);
    this.history = history;
    this.key = key;
  }

  /** The producer's state while the gateway has it. */
  get open(): OpenProducerState | undefined {
    const { state } = this;
    return state.is === "live" || state.is === "installing" ? state : undefined;
  }

  /** The channel's number while the gateway has the producer, for the headers of runs; else 0, which no channel has. */
  get channelNumber(): number {
    return this.#channelNumber;
  }

  /** The producer's own number, likewise. */
  get number(): number {
    return this.#number;
  }

  protected override changed(): void {
    const { channelNumber = 0, number = 0 } = this.open ?? {};
    const isLeft = this.#number !== 0 && number === 0;
    if (isLeft) for (const lane of this.lanes) lane.leftAt ??= lane.raised;
    this.#channelNumber = channelNumber;
    this.#number = number;
  }
}

/** A consumer of this process, as its concentrator knows it. */
export class ConsumerEndpoint extends Stateful<ConsumerState> {
  readonly is = "consumer";
  // Fields that each run needs come first, so that they lie together in memory.
  /** The feed, if this consumer feeds modulators that run here and not an application. */
  feed: Feed | undefined;
  /** Events before this number are not for it. */
  fromSeq = 0;
  readonly tracker: Tracker;
  /** Epoch and sequence number of its newest event from the gateway: it goes on behind it at another connection. */
  epoch = 0;
  seq = 0;
  readonly feedName: string;
  readonly channel: string;
  readonly schema: Uint8Array;
  /** The queue's policy at the gateway where this process does not keep up. */
  readonly queue: Queue;
  label: string;
  /** Name of its modulator's output for others; "" for none. */
  as: string;
  /** The consumer's beginning when it is opened first; a time in it is of this machine's clock. */
  readonly from: Place | undefined;
  modulator: Modulator | undefined;
  /** Takes the consumer's events instead of an application. */
  readonly taker: InputTaker | undefined;
  /** The consumer's past while this process makes it; all other events wait for it. */
  past: OwnPast | undefined;
  /** Holds the next modulator's output while the present one still owes events. */
  successor: Successor | undefined;
  /** Runs and positions that wait for the past. */
  readonly waiting = new Postponed();
  /** Whether the newest event, with which it begins, is still to come. */
  isOwedNewest = false;
  /** The source that was named to its application last, for each producer's number and urgency. */
  readonly named = new Map<number, TrackedSource>();
  /** Events that the gateway dropped and that have not been told as missing yet. */
  dropped = 0;
  /** Whether the gateway has dropped any, also for another process before: the consumer may be behind its place in a source that has ended since. */
  hasGaps = false;
  /** The reason of the modulator's restart, until the first word of the new incarnation. */
  impaired: JechoError | undefined;
  /** The application can take no more for now. */
  isPaused = false;
  /** Whether the application's thread takes no events of the consumer. */
  isStalled = false;
  /** The reset that is in force; 0 for what it was opened with. */
  reset = 0;
  /** Resets that were asked for later and are not answered, oldest first. */
  resets: Reset[] = [];

  constructor(
    request: Omit<Request<"openConsumer">, "sources" | "sinceMs">,
    port: PortEnd,
    indexes: StateIndexes,
    tracker = new Tracker(),
    taker?: InputTaker,
    feed?: Feed,
    feedName = "",
  ) {
    super(CONSUMER_TRANSITIONS, indexes, port, request.endpoint);
    const { channel, schema, modulator, queue, label, as, from } = request;
    this.feed = feed;
    this.tracker = tracker;
    this.taker = taker;
    this.feedName = feedName;
    this.channel = channel;
    this.schema = schema;
    this.queue = queue;
    this.label = label;
    this.as = as;
    this.from = from;
    this.modulator = modulator;
  }

  /** The consumer's state while the gateway has it. */
  get open(): OpenConsumerState | undefined {
    return openStateOf(this.state);
  }

  /** The number of its channel, or derived channel. */
  get channelNumber(): number | undefined {
    return this.open?.channelNumber;
  }

  /** The number under which the past comes, while it does. */
  get replay(): number | undefined {
    return this.state.is === "replaying" ? this.state.replay : undefined;
  }

  /** Whether an application takes the consumer's events. */
  get isApplications(): boolean {
    return this.taker === undefined;
  }

  /** The consumer's place, for another device to go on there. @param consumer its number at the gateway */
  placeOf(consumer: number): HeldPlace {
    const { epoch, seq, tracker, label } = this;
    return { consumer, epoch, seq: BigInt(seq), sources: tracker.places(), label, sinceMs: tracker.sinceMs };
  }

  /** The request to open the consumer at the gateway. */
  opening(
    asked: Pick<OpenConsumer, "request" | "modulator" | "as" | "from" | "compared">,
  ): OpenConsumer & { readonly kind: "OpenConsumer" } {
    const { channel, schema, queue, label, feed, tracker, isApplications, hasGaps } = this;
    // The place of an application's consumer is enough in sources that no modulator's output is of, unless it lacks events before that.
    const sources = tracker.places().filter(({ origin }) => !isApplications || origin !== 0n || hasGaps);
    return { kind: "OpenConsumer", channel, schema, queue, label, feed, sources, ...asked };
  }

  /**
   * Puts a reset in force, which answers the earlier ones, too.
   *
   * @param goesOn whether the new modulator goes on at the old one's position, so that a gap between them is told
   * @param isSame whether it is an equal one: the same output goes on
   */
  takeReset({ reset, modulator }: Reset, goesOn: boolean, isSame: boolean): void {
    this.past?.end();
    this.modulator = modulator;
    this.as = "";
    this.reset = reset;
    this.resets = this.resets.filter(other => other.reset > reset);
    // Another modulator's output is counted anew.
    if (!goesOn) this.tracker.clear();
    else if (!isSame) this.tracker.changed(modulator === undefined && splitName(this.channel).derived === "");
  }

  protected override changed(before: ConsumerState): void {
    if (openStateOf(before) !== undefined && this.open === undefined) this.tracker.away();
    const successor = comingOf(this.open)?.successor;
    // Held output was handed on, or is lost with the connection.
    if (this.successor !== successor) this.successor?.end();
    this.successor = successor;
  }
}

/** An application's copy of a shared object, as its concentrator knows it. */
export class CopyEndpoint extends Stateful<CopyState> {
  readonly is = "object";
  readonly object: string;
  readonly lazy: boolean;
  /** Term, terms before it, version and state that the copy knows, for the next connection. */
  term = 0;
  terms: readonly number[] = [];
  version: number;
  objectState: string;

  constructor(request: Request<"openObject">, port: PortEnd, indexes: StateIndexes) {
    super(COPY_TRANSITIONS, indexes, port, request.endpoint);
    const { object, lazy, version, state } = request;
    this.object = object;
    this.lazy = lazy;
    this.version = version;
    this.objectState = state;
  }

  /** The copy's state while the gateway has it. */
  get open(): LiveCopy | undefined {
    return this.state.is === "live" ? this.state : undefined;
  }
}

export type Endpoint = ProducerEndpoint | ConsumerEndpoint | CopyEndpoint;

/** The state, if the gateway has the consumer in it. */
export function openStateOf(state: ConsumerState): OpenConsumerState | undefined {
  return state.is === "live" || state.is === "replaying" ? state : undefined;
}
