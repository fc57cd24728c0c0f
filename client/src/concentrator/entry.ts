import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import type { EventsFrame, Feed, History, Modulator, Place, Queue } from "@jecho/shared/internal";
import type { Demand, DerivedDemand } from "../demand.ts";
import type { ControlRequest } from "../port.ts";
import type { Lane, Lanes } from "./lane.ts";
import { type Source, Tracker } from "./tracking.ts";

/** A producer of this process, as its concentrator knows it. */
export interface ProducerEntry {
  // What each run needs comes first, for it to lie together in memory.
  /** Whom its events go to in other processes. */
  elsewhere: number;
  /** Of `lanes`, that of events which are not urgent. */
  readonly usual: Lane;
  /** At the present connection; 0 while there is none. */
  channelNumber: number;
  number: number;
  /** The type that it writes; 0n on an untyped channel. */
  readonly token: bigint;
  readonly channel: string;
  readonly is: "producer";
  readonly endpoint: number;
  /** The counts of its events; they go on over connections. */
  readonly lanes: Lanes;
  readonly schema: Uint8Array;
  /** What its delegate offers to modulators, if it has one. */
  readonly offers: readonly Offer[] | undefined;
  /** The newest views of its state, by name. */
  readonly context: Map<string, Value>;
  /** What the gateway is to keep of its channel. */
  readonly history: History;
  readonly key: string;
  /** Of those elsewhere, modulators of which nobody is a consumer yet. */
  unheard: number;
  open: boolean;
  /** Has it ever been open? Then it is opened again whatever passing trouble comes. */
  wasOpen: boolean;
}

/** A consumer of this process, as its concentrator knows it. */
export interface ConsumerEntry {
  readonly is: "consumer";
  // What each run needs comes first, for it to lie together in memory.
  readonly endpoint: number;
  /** It feeds modulators that run here, and what it takes is not an application's. */
  readonly feed: Feed | undefined;
  /** Events before this number are not for it. */
  fromSeq: number;
  readonly tracker: Tracker;
  /** The newest event that it has had over the wire: where it goes on at another connection. */
  epoch: number;
  seq: number;
  readonly feedName: string;
  readonly channel: string;
  readonly schema: Uint8Array;
  /** What the gateway does where this process does not keep up. */
  readonly queue: Queue;
  label: string;
  /** The name that what its modulator makes has for others; "" for none. */
  as: string;
  /** Where it begins when it is opened first; a time in it is of this machine's clock. */
  readonly from: Place | undefined;
  modulator: Modulator | undefined;
  /** Not 0: the number under which the past comes, until that is over. */
  replay: number;
  /** This process' own events that wait until then. */
  waiting: { readonly frame: EventsFrame; readonly source: Source }[];
  /** Events that the gateway dropped and that have not been told as missing yet. */
  dropped: number;
  /** The application can take no more for now. */
  isPaused: boolean;
  /** Does its application's thread not take its events? */
  isStalled: boolean;
  /** It has left its channel for as long as that is so. */
  rests?: boolean;
  channelNumber: number;
  /** And at the last connection. */
  lastChannel?: number;
  number: number;
  wasOpen?: boolean;
  /** The reset that is in force; 0 for what it was opened with. */
  opened: number;
  /** Those that were asked for later and are not answered, oldest first. */
  resets: Reset[];
  /** The one that the gateway has been asked for, of these: one at a time. */
  asking: Reset | undefined;
}

/** The token of all untyped channels: one for all of them lies in one place. */
const UNTYPED = 0n;

/** Another modulator that a consumer is to have, or none. */
export interface Reset {
  readonly reset: number;
  modulator: Modulator | undefined;
}

/** An application's copy of a shared object, as its concentrator knows it. */
export interface ObjectEntry {
  readonly is: "object";
  readonly endpoint: number;
  readonly object: string;
  readonly lazy: boolean;
  /** What it knows, for the next connection. */
  term: number;
  version: number;
  state: string;
  /** At the present connection; 0 while there is none. */
  number: number;
  wasOpen?: boolean;
}

export type EndpointEntry = ProducerEntry | ConsumerEntry | ObjectEntry;

type Request<Is extends ControlRequest["is"]> = Omit<Extract<ControlRequest, { is: Is }>, "is">;

export function newProducer(request: Request<"openProducer">, lanes: Lanes): ProducerEntry {
  const { endpoint, token, channel, schema, offers, context, history, key } = request;
  return {
    elsewhere: 0,
    usual: lanes.usual,
    channelNumber: 0,
    number: 0,
    // Whatever has come from another thread lies apart.
    token: token === UNTYPED ? UNTYPED : token,
    channel,
    is: "producer",
    endpoint,
    lanes,
    schema,
    offers,
    context: new Map(context),
    history,
    key,
    unheard: 0,
    open: false,
    wasOpen: false,
  };
}

export function newConsumer(
  request: Omit<Request<"openConsumer">, "sources">,
  tracker = new Tracker(),
  feed: Feed | undefined = undefined,
  feedName = "",
): ConsumerEntry {
  const { endpoint, channel, schema, modulator, queue, label, as, from } = request;
  return {
    is: "consumer",
    endpoint,
    feed,
    fromSeq: 0,
    tracker,
    epoch: 0,
    seq: 0,
    feedName,
    channel,
    schema,
    queue,
    label,
    as,
    from,
    modulator,
    replay: 0,
    waiting: [],
    dropped: 0,
    isPaused: false,
    isStalled: false,
    channelNumber: 0,
    number: 0,
    opened: 0,
    resets: [],
    asking: undefined,
  };
}

export function newObject(request: Request<"openObject">): ObjectEntry {
  return { ...request, is: "object", term: 0, number: 0 };
}

export function wantedOf(consumers: number, derived: readonly DerivedDemand[]): Demand {
  let total = consumers;
  let mostPerSecond = consumers > 0 ? Number.POSITIVE_INFINITY : 0;
  for (const channel of derived) {
    total += channel.consumers;
    if (channel.consumers > 0) mostPerSecond = Math.max(mostPerSecond, channel.mostPerSecond);
  }
  return { consumers, derived, total, mostPerSecond };
}
