import { JechoError } from "@jecho/shared";
import type { EventsFrame, Position } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../endpoints/endpoint.ts";
import type { Lane } from "../outgoing/lane.ts";
import type { PostponedOutput } from "./postponed.ts";
import { type Counting, keyOf, type Routes } from "./routes.ts";
import type { SynchronousEvents } from "./synchronous.ts";
import { NOBODY as NOT_HANDLED, type Outcome } from "./tally.ts";
import { TrackedSource } from "./tracked-source.ts";

export interface ReceptionEvents {
  /**
   * The subject of a producer's token is known; "" where it is not.
   *
   * @param replay the number of a replay in which alone that holds, or 0
   */
  onNamed(replay: number, producer: number, name: string): void;
  /** All consumers here have handled an event of a synchronous run from elsewhere. */
  onHandled(frame: EventsFrame, i: number, outcome: Outcome): void;
}

/** A position in the counts of a producer's source; `after` and `through` are of the raw source, as in `Position`. */
export interface CountedPlace {
  /** Number at the gateway; 0 for one here. */
  readonly producer: number;
  readonly of: Counting;
  readonly raised: number;
  readonly after: number;
  readonly through: number;
  /** How long ago the source ended; 0 where that is not known. */
  readonly agoMs: number;
}

const NOBODY: readonly ConsumerEndpoint[] = [];

/** Hands runs to the consumers of this process: each event once and in its producer's order. Missing events are told. */
export class Reception {
  readonly #events: ReceptionEvents;
  readonly #synchronous: SynchronousEvents;
  readonly #routes: Routes;

  constructor(routes: Routes, synchronous: SynchronousEvents, events: ReceptionEvents) {
    this.#routes = routes;
    this.#events = events;
    this.#synchronous = synchronous;
  }

  /** A remote producer goes on behind this event. */
  position(position: Position, isOurs: boolean): void {
    const { channel, producer, urgent, process, by, agoMs } = position;
    const route = this.#routes.get(channel);
    if (route === undefined) return;
    const isPast = route.consumers[0]?.replay === channel;
    const known = route.originOf(producer, urgent);
    const isKnown =
      known?.source.id === position.source &&
      (known.origin?.id ?? 0n) === position.origin &&
      known.process === process;
    const source = isKnown ? known.source : new TrackedSource(position.source, urgent);
    const made = position.origin === 0n ? undefined : new TrackedSource(position.origin, urgent);
    const origin = isKnown ? known.origin : made;
    if (!isKnown) {
      route.setOrigin(producer, urgent, { source, origin, process, heard: 0 });
      this.#events.onNamed(isPast ? channel : 0, producer, by);
    }
    const { consumers } = route;
    // Own events come over the wire only as part of the past.
    if (isOurs && !isPast) return;
    const raised = Number(position.raised);
    const after = Number(position.after);
    const through = Number(position.through);
    const at = { producer, of: { source, origin }, raised, after, through, agoMs };
    for (const entry of route.coming) this.#placeLater(entry, at);
    for (const entry of consumers) {
      if (!takes(entry, process)) continue;
      // A feed begins with the first word on what feeds it.
      const isOfNobody = origin?.id === source.id;
      if (isOfNobody && !entry.isApplications) continue;
      this.#placeAt(entry, at);
    }
  }

  /** Holds a position of the next modulator. */
  #placeLater(entry: ConsumerEndpoint, at: CountedPlace): void {
    const { successor } = entry;
    const { source, origin } = at.of;
    // Events from before the consumer came are not for it.
    if (origin === undefined) successor?.begins(source, at.raised);
    else if (origin.id !== source.id) successor?.begins(origin, at.raised > 0 ? at.through : at.after);
    const place = (): void => this.#placeAt(entry, at);
    successor?.held.add(source.name, 0, place, place);
    successor?.check();
  }

  /** Tells a consumer a position, after its past where that is still being made. */
  #placeAt(entry: ConsumerEndpoint, at: CountedPlace): void {
    if (entry.past === undefined) return this.#place(entry, at);
    entry.past.begins(at);
    const place = (): void => this.#placeAt(entry, at);
    entry.waiting.add(at.of.source.name, 0, place, place);
  }

  #place(entry: ConsumerEndpoint, at: CountedPlace): void {
    const { producer, of, raised, after, through, agoMs } = at;
    const { tracker } = entry;
    if (entry.successor?.replaces(of.origin ?? of.source)) return;
    const missing = tracker.place(of.source, raised, of.origin, after, through, agoMs);
    this.#checkRestart(entry);
    entry.successor?.check();
    if (entry.isApplications) {
      // Before its first run, which one message may carry for several consumers. Missing events are part of the consumer's place: they are told once.
      const isUnmade = of.origin?.id === of.source.id;
      // A source that goes on may be further at the gateway than what is made of it is here.
      const known = isUnmade ? (tracker.throughOf(of.source, true) as number) : through;
      // A past that was asked for may still come of these events: they are no part of the consumer's place before anything was made of them.
      const isOpen = isUnmade && entry.from !== undefined && tracker.throughOf(of.source) === undefined;
      if (!isOpen || missing > 0)
        nameSource(entry, isUnmade ? 0 : producer, of, isUnmade ? 0 : raised, known, true);
      return this.#missing(entry, missing);
    }
    entry.taker?.placed(at, missing);
  }

  /** A modulator here begins to make this channel of a further source. */
  begun(channel: number, at: CountedPlace): void {
    for (const entry of this.#routes.get(channel)?.consumers ?? NOBODY)
      if (entry.past !== undefined) this.#placeAt(entry, at);
  }

  /** The fate of events up to this place is known, for a channel that is raised or made here. */
  stated(channel: number, at: CountedPlace): void {
    const route = this.#routes.get(channel);
    if (route === undefined) return;
    for (const entry of route.coming) this.#placeLater(entry, at);
    for (const entry of route.consumers) if (entry.isApplications) this.#placeAt(entry, at);
  }

  /** A run of the past that was made for this consumer alone. */
  madeFor(entry: ConsumerEndpoint, frame: EventsFrame, lane: Lane): void {
    this.#hand(entry, frame, lane, 0);
  }

  /** The same for the past that is made for this consumer alone. */
  statedFor(entry: ConsumerEndpoint, at: CountedPlace): void {
    this.#place(entry, at);
  }

  /** Events of this channel, or their raw events, were dropped: this process was too slow. */
  dropped(channel: number, events: number): void {
    for (const entry of this.#routes.get(channel)?.consumers ?? NOBODY)
      if (entry.isApplications) {
        entry.dropped += events;
        entry.hasGaps = true;
      } else entry.taker?.dropped?.(events);
  }

  /** A run has come from the gateway. */
  arrived(frame: EventsFrame): void {
    const route = this.#routes.get(frame.channel);
    if (route === undefined) {
      if (frame.isSync) this.#deliver(frame, NOBODY);
      return;
    }
    const origin = route.originOf(frame.producer, frame.isUrgent);
    const process = origin?.process ?? 0;
    if (route.coming.length > 0)
      for (const entry of route.coming)
        this.#later(entry, frame, origin, copy => this.#arrivedFor(entry, copy, origin, process));
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
    // An urgent run may have passed others, which are still to come.
    if (frame.isUrgent) return;
    entry.epoch = frame.epoch;
    entry.seq = frame.seq + frame.count - 1;
  }

  /** Holds a run of the next modulator. Nobody waits until its synchronous events are handled. */
  #later(
    entry: ConsumerEndpoint,
    frame: EventsFrame,
    of: Counting | undefined,
    hand: (copy: EventsFrame) => void,
  ): void {
    const { successor } = entry;
    // Another consumer's events, which the gateway's answer has passed.
    if (frame.seq !== 0 && successor !== undefined && frame.seq < successor.opened.seq) return;
    const copy = frame.copy();
    copy.forgetSync();
    if (of !== undefined)
      successor?.begins(of.origin ?? of.source, of.origin ? frame.after : frame.raised - 1);
    successor?.held.add(...this.#postponed(entry, copy, of, () => hand(copy)));
    successor?.check();
  }

  /** A run that is handed on later, or told as missing. */
  #postponed(
    entry: ConsumerEndpoint,
    { producer, raised, count, after, accounted, start, end }: EventsFrame,
    of: Counting | undefined,
    hand: () => void,
  ): PostponedOutput {
    if (of === undefined) return ["", end - start, hand, () => {}];
    const at = { producer, of, raised: raised + count - 1, after, through: accounted, agoMs: 0 };
    return [of.source.name, end - start, hand, () => this.#placeAt(entry, at)];
  }

  /** A run that was raised or derived here. @param handled called for each event of a synchronous run */
  raised(frame: EventsFrame, lane: Lane, handled?: (outcome: Outcome, i: number) => void): void {
    const route = this.#routes.get(frame.channel);
    if (route === undefined && handled === undefined) return;
    const { consumers = NOBODY, replaying = NOBODY } = route ?? {};
    // Feeds of modulators get it in another way.
    const takers = consumers.filter(({ isApplications }) => isApplications);
    if (handled !== undefined) this.#synchronous.deliver(frame, takers, handled);
    for (const entry of replaying) if (entry.isApplications) this.#handLater(entry, frame, lane);
    for (const entry of route?.coming ?? NOBODY)
      this.#later(entry, frame, lane, copy => this.#handTo(entry, copy, lane, 0));
    // All sources are named first, for one message may carry the run for several consumers.
    if (takers.length > 1)
      for (const entry of takers)
        if (entry.past === undefined) nameSource(entry, frame.producer, lane, frame.raised - 1, frame.after);
    for (const entry of takers) this.#handTo(entry, frame, lane, 0);
  }

  /** A run that was raised or made here before this consumer was open. */
  raisedBefore(entry: ConsumerEndpoint, frame: EventsFrame, lane: Lane): void {
    if (entry.state.is === "live") this.#handTo(entry, frame, lane, 0);
    else this.#handLater(entry, frame, lane);
  }

  /** @param process that raised it elsewhere; 0 where it was this one */
  #handTo(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, process: number): void {
    if (!takes(entry, process)) return;
    // Sequence numbers are compared when the run comes: one that waits may be handed on at a later connection, which begins behind it.
    this.#handOrWait(entry, frame, of, frame.seq === 0 ? 0 : Math.max(0, entry.fromSeq - frame.seq));
  }

  /** @param had number of events at the run's beginning that were sent before the consumer was there */
  #handOrWait(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, had: number): void {
    if (entry.past === undefined) return this.#hand(entry, frame, of, had);
    // Producers do not wait for a past, which may take long.
    this.#skip(entry, frame);
    if (had >= frame.count) return;
    entry.past.begins({ of, raised: frame.raised - 1, through: frame.after });
    const copy = frame.copy();
    copy.forgetSync();
    this.#handLater(entry, copy, of, had);
  }

  /** Nobody waits until this consumer has handled the run, or its first events. */
  #skip(
    entry: ConsumerEndpoint,
    { channel, producer, raised, count, isSync }: EventsFrame,
    skipped = count,
  ): void {
    if (!isSync) return;
    for (let i = 0; i < skipped; i++)
      this.#synchronous.handled(entry, channel, producer, raised + i, NOT_HANDLED);
  }

  #handLater(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, had = 0): void {
    entry.waiting.add(...this.#postponed(entry, frame, of, () => this.#handOrWait(entry, frame, of, had)));
  }

  #hand(entry: ConsumerEndpoint, frame: EventsFrame, of: Counting | undefined, sentBefore: number): void {
    let had = sentBefore;
    let missing = 0;
    if (of !== undefined) {
      if (entry.successor?.replaces(of.origin ?? of.source)) return this.#skip(entry, frame);
      const counted = entry.tracker.take(of.source, frame, of.origin);
      missing = counted.missing;
      this.#checkRestart(entry);
      entry.successor?.check();
      if (missing > 0 && entry.isApplications) this.#missing(entry, missing);
      had = Math.max(had, counted.had);
    }
    this.#skip(entry, frame, Math.min(had, frame.count));
    if (had >= frame.count) return;
    if (entry.isApplications) {
      if (of !== undefined) nameSource(entry, frame.producer, of, frame.raised + had - 1, frame.after);
      entry.listener.receive(entry.id, frame, had);
    } else entry.taker?.take(frame, had, of, missing);
  }

  #checkRestart(entry: ConsumerEndpoint): void {
    const { tracker, id, listener, isApplications } = entry;
    if (!tracker.hasRestarted) return;
    tracker.hasRestarted = false;
    const { impaired } = entry;
    entry.impaired = undefined;
    const error = impaired ?? new JechoError("MODULATOR_RESTARTED", "it was installed anew");
    if (isApplications) listener.notify({ is: "impaired", endpoint: id, error });
  }

  #missing(entry: ConsumerEndpoint, events: number): void {
    if (events === 0) return;
    // The gateway told which events it dropped; the others were lost on the way.
    const dropped = Math.min(events, entry.dropped);
    entry.dropped -= dropped;
    entry.listener.notify({ is: "missing", endpoint: entry.id, events, dropped });
  }
}

/** Tells the application the source of a producer's runs, and their position, where nothing else does. */
function nameSource(
  { named, id: endpoint, listener }: ConsumerEndpoint,
  producer: number,
  { source, origin }: Counting,
  raised: number,
  through: number,
  isPlace?: boolean,
): void {
  const { urgent } = source;
  const key = keyOf(producer, urgent);
  if (!isPlace && named.get(key) === source) return;
  named.set(key, source);
  const ids = { source: source.id, origin: origin?.id ?? 0n };
  listener.notify({ is: "source", endpoint, producer, urgent, ...ids, raised, through });
}

/** Whether the consumer takes this process' events: a feed of modulators takes the events of one process alone. */
function takes({ feed }: ConsumerEndpoint, process: number): boolean {
  return feed === undefined || feed.process === process;
}
