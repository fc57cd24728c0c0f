import { JechoError } from "@jecho/shared";
import { type EventsFrame, type HeldPlace, NumberTable, type Position } from "@jecho/shared/internal";
import type { Outcome } from "../tally.ts";
import type { ConsumerEndpoint } from "./endpoint.ts";
import type { ConsumerIndexes } from "./endpoint-index.ts";
import type { OpenConsumerState } from "./endpoint-states.ts";
import type { Lane } from "./lane.ts";
import type { SynchronousEvents } from "./synchronous.ts";
import { Remembered, Source } from "./tracking.ts";

/** Bytes of this process' own events that wait for a consumer while it is being sent the past. */
const WAITING_BYTES = 16 << 20;

export interface ReceptionEvents {
  /**
   * A run for modulators that run here in a producer's stead, from its event `first` on.
   *
   * @param missing so many events before it never came
   */
  onTaken(
    entry: ConsumerEndpoint,
    frame: EventsFrame,
    first: number,
    of: Counting | undefined,
    missing: number,
  ): void;
  /** What becomes of a source's events up to `reached` is known; so many of them never came to them. */
  onPlaced(entry: ConsumerEndpoint, producer: number, of: Counting, reached: number, missing: number): void;
  /** All consumers here have handled an event of a synchronous run from elsewhere. */
  onHandled(frame: EventsFrame, i: number, outcome: Outcome): void;
}

/** By what events are counted. */
export interface Counting {
  readonly source: Source;
  /** The raw source that derived ones are made of. */
  readonly origin: Source | undefined;
}

interface Origin extends Counting {
  /** The process that raises them. */
  readonly process: number;
  heard: number;
}

const NOBODY: readonly ConsumerEndpoint[] = [];

/** What comes under one number: a channel's, or that of its past for one consumer. Whoever is in a list may leave while it is read. */
class Route {
  /** The one consumer, where there is no more than one: most channels have one here, and each look into a list is one into memory. */
  only: ConsumerEndpoint | undefined;
  /** Whose the newest run was, and the key that it is found by: what is remembered is one look further away. */
  #newestKey = -1;
  #newest: Origin | undefined;
  #consumers = NOBODY;
  /** Those of the channel that are being sent the past, under numbers of their own. */
  replaying = NOBODY;
  /** Whose the runs are, by the producer's number and their urgency. */
  readonly #origins = new Remembered<number, Origin>();

  get consumers(): readonly ConsumerEndpoint[] {
    return this.#consumers;
  }

  set consumers(consumers: readonly ConsumerEndpoint[]) {
    this.#consumers = consumers;
    this.only = consumers.length === 1 ? consumers[0] : undefined;
  }

  originOf(producer: number, urgent: boolean): Origin | undefined {
    const key = keyOf(producer, urgent);
    if (key === this.#newestKey) return this.#newest;
    const origin = this.#origins.get(key);
    if (origin !== undefined) this.#hear(key, origin);
    return origin;
  }

  setOrigin(producer: number, urgent: boolean, origin: Origin): void {
    const key = keyOf(producer, urgent);
    this.#origins.set(key, origin);
    this.#hear(key, origin);
  }

  #hear(key: number, origin: Origin): void {
    this.#newestKey = key;
    this.#newest = origin;
  }
}

/** Hands runs to the consumers of this process: each event once and in its producer's order, and what is missing is told. */
export class Reception implements ConsumerIndexes {
  readonly #events: ReceptionEvents;
  readonly #synchronous: SynchronousEvents;
  /** By their numbers at the present connection. */
  readonly #routes = new NumberTable<Route>();

  constructor(synchronous: SynchronousEvents, events: ReceptionEvents) {
    this.#events = events;
    this.#synchronous = synchronous;
  }

  /** Consumers here of a channel or derived channel. */
  consumersOf(channel: number): number {
    const route = this.#routes.get(channel);
    if (route === undefined) return 0;
    let consumers = route.replaying.length;
    for (const { feed } of route.consumers) if (feed === undefined) consumers++;
    return consumers;
  }

  /** Is there anybody here whom a run of this channel is for? */
  takes(channel: number): boolean {
    const route = this.#routes.get(channel);
    return route !== undefined && route.consumers.length + route.replaying.length > 0;
  }

  /** The consumers here of a channel or derived channel, those among them that are being sent the past, and those that feed modulators. */
  membersOf(channel: number): readonly ConsumerEndpoint[] {
    const route = this.#routes.get(channel);
    if (route === undefined) return NOBODY;
    return route.replaying.length === 0 ? route.consumers : [...route.consumers, ...route.replaying];
  }

  moved(
    entry: ConsumerEndpoint,
    before: OpenConsumerState | undefined,
    after: OpenConsumerState | undefined,
  ): void {
    if (isSameWay(before, after)) return;
    if (before !== undefined) this.#leave(entry, before);
    if (after !== undefined) this.#enter(entry, after);
    // Whoever enters next is told anew where its producers are.
    if (before !== undefined && !this.takes(before.channelNumber)) this.#routes.delete(before.channelNumber);
  }

  #enter(entry: ConsumerEndpoint, state: OpenConsumerState): void {
    const channel = this.#route(state.channelNumber);
    if (state.is === "live") channel.consumers = [...channel.consumers, entry];
    else {
      channel.replaying = [...channel.replaying, entry];
      const past = this.#route(state.replay);
      past.consumers = [...past.consumers, entry];
    }
  }

  #leave(entry: ConsumerEndpoint, state: OpenConsumerState): void {
    const channel = this.#route(state.channelNumber);
    channel.consumers = channel.consumers.filter(other => other !== entry);
    channel.replaying = channel.replaying.filter(other => other !== entry);
    if (state.is === "replaying") this.#routes.delete(state.replay);
  }

  #route(number: number): Route {
    let route = this.#routes.get(number);
    if (route === undefined) {
      route = new Route();
      this.#routes.set(number, route);
    }
    return route;
  }

  /** The past has come to its end: this process' own events that waited for that come next. */
  handWaiting(entry: ConsumerEndpoint): void {
    const { waiting } = entry;
    entry.waiting = [];
    for (const { frame, of } of waiting) this.#handTo(entry, frame, of, 0);
  }

  /** A producer elsewhere goes on behind this event. */
  position(position: Position, isOurs: boolean): void {
    const { channel, producer, urgent, process } = position;
    const route = this.#routes.get(channel);
    if (route === undefined) return;
    const known = route.originOf(producer, urgent);
    const isKnown =
      known?.source.id === position.source &&
      (known.origin?.id ?? 0n) === position.origin &&
      known.process === process;
    const source = isKnown ? known.source : new Source(position.source, urgent);
    const made = position.origin === 0n ? undefined : new Source(position.origin, urgent);
    const origin = isKnown ? known.origin : made;
    if (!isKnown) route.setOrigin(producer, urgent, { source, origin, process, heard: 0 });
    const { consumers } = route;
    // Our own events do not come over the wire, save those of the past.
    if (isOurs && consumers[0]?.replay !== channel) return;
    const raised = Number(position.raised);
    const after = Number(position.after);
    const through = Number(position.through);
    for (const entry of consumers) {
      if (!takes(entry, process)) continue;
      const missing = entry.tracker.place(source, raised, origin, after, through);
      this.#checkRestart(entry);
      if (entry.feed === undefined) this.#missing(entry, missing);
      else {
        const reached = origin === undefined ? raised : through;
        this.#events.onPlaced(entry, producer, { source, origin }, reached, missing);
      }
    }
  }

  /** A lane of what is made here has been accounted for so far. */
  stated({ channel, source, raised, coverage }: Lane): void {
    const route = this.#routes.get(channel);
    if (route === undefined || coverage === undefined) return;
    const { start, through } = coverage;
    for (const entry of route.consumers) {
      if (entry.feed !== undefined) continue;
      const missing = entry.tracker.place(source, raised, coverage.source, start, through);
      this.#checkRestart(entry);
      this.#missing(entry, missing);
    }
  }

  /** The gateway dropped events that we were too slow for. */
  dropped(channel: number, events: number): void {
    for (const entry of this.#routes.get(channel)?.consumers ?? NOBODY) entry.dropped += events;
  }

  /** A run from elsewhere. */
  arrived(frame: EventsFrame): void {
    const route = this.#routes.get(frame.channel);
    if (route === undefined) {
      if (frame.isSync) this.#deliver(frame, NOBODY);
      return;
    }
    const origin = route.originOf(frame.producer, frame.isUrgent);
    const process = origin?.process ?? 0;
    if (frame.isSync)
      this.#deliver(
        frame,
        route.consumers.filter(entry => takes(entry, process)),
      );
    if (route.only !== undefined) this.#arrivedFor(route.only, frame, origin, process);
    else for (const entry of route.consumers) this.#arrivedFor(entry, frame, origin, process);
  }

  #deliver(frame: EventsFrame, takers: readonly ConsumerEndpoint[]): void {
    this.#synchronous.deliver(frame, takers, (outcome, i) => this.#events.onHandled(frame, i, outcome));
  }

  #arrivedFor(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, process: number): void {
    this.#handTo(entry, frame, of, process);
    entry.epoch = frame.epoch;
    entry.seq = frame.seq + frame.count - 1;
  }

  /** A run that was raised or derived here. @param handled called for each event of a synchronous run */
  raised(frame: EventsFrame, lane: Lane, handled?: (outcome: Outcome, i: number) => void): void {
    const route = this.#routes.get(frame.channel);
    if (route === undefined && handled === undefined) return;
    const { consumers = NOBODY, replaying = NOBODY } = route ?? {};
    // What feeds modulators is fed with it otherwise.
    const takers = consumers.filter(({ feed }) => feed === undefined);
    if (handled !== undefined) this.#synchronous.deliver(frame, takers, handled);
    for (const entry of replaying) this.#wait(entry, frame, lane);
    for (const entry of takers) this.#handTo(entry, frame, lane, 0);
  }

  /** A run that was made here while this consumer was away. */
  raisedBefore(entry: ConsumerEndpoint, frame: EventsFrame, lane: Lane): void {
    if (entry.state.is === "replaying") this.#wait(entry, frame, lane);
    else this.#handTo(entry, frame, lane, 0);
  }

  #wait(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting): void {
    entry.waiting.push({ frame, of });
    let bytes = 0;
    for (const waiting of entry.waiting) bytes += waiting.frame.end - waiting.frame.start;
    while (bytes > WAITING_BYTES) {
      const { start, end } = (entry.waiting.shift() as (typeof entry.waiting)[number]).frame;
      bytes -= end - start;
    }
  }

  /** Where a consumer is, for another device to go on there. */
  placeOf({ epoch, seq, tracker, label }: ConsumerEndpoint, consumer: number): HeldPlace {
    return { consumer, epoch, seq: BigInt(seq), sources: tracker.places(), label };
  }

  /** What another device has had. */
  inherit(entry: ConsumerEndpoint, sources: HeldPlace["sources"]): void {
    entry.tracker.inherit(sources);
  }

  /** @param process that raised it elsewhere; 0 where it was this one */
  #handTo(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, process: number): void {
    if (!takes(entry, process)) return;
    const { seq, count } = frame;
    let had = seq === 0 ? 0 : Math.max(0, entry.fromSeq - seq);
    let missing = 0;
    if (of !== undefined) {
      const counted = entry.tracker.take(of.source, frame, of.origin);
      missing = counted.missing;
      this.#checkRestart(entry);
      if (missing > 0 && entry.feed === undefined) this.#missing(entry, missing);
      had = Math.max(had, counted.had);
    }
    if (had >= count) return;
    if (entry.feed === undefined) entry.listener.receive(entry.id, frame, had);
    else this.#events.onTaken(entry, frame, had, of, missing);
  }

  #checkRestart(entry: ConsumerEndpoint): void {
    const { tracker, id, listener, feed } = entry;
    if (!tracker.hasRestarted) return;
    tracker.hasRestarted = false;
    const { impaired } = entry;
    entry.impaired = undefined;
    const error =
      impaired ?? new JechoError("MODULATOR_RESTARTED", "it goes on at another place, or was installed anew");
    if (feed === undefined) listener.notify({ is: "impaired", endpoint: id, error });
  }

  #missing(entry: ConsumerEndpoint, events: number): void {
    if (events === 0) return;
    // What the gateway dropped for us is said to be that; the rest was lost on the way.
    const dropped = Math.min(events, entry.dropped);
    entry.dropped -= dropped;
    entry.listener.notify({ is: "missing", endpoint: entry.id, events, dropped });
  }
}

/** What feeds modulators takes the events of one process alone. */
function takes({ feed }: ConsumerEndpoint, process: number): boolean {
  return feed === undefined || feed.process === process;
}

/** Does the same come for it, under the same numbers? */
function isSameWay(before: OpenConsumerState | undefined, after: OpenConsumerState | undefined): boolean {
  return (
    before?.channelNumber === after?.channelNumber &&
    before?.is === after?.is &&
    (before?.is === "replaying" ? before.replay : undefined) ===
      (after?.is === "replaying" ? after.replay : undefined)
  );
}

function keyOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
