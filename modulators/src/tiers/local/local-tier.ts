import { JechoError } from "@jecho/shared";
import { EventsFrame, inPieces, type Stretch } from "@jecho/shared/internal";
import { grantsOf, MOE_OFFERS } from "../../authoring/delegate.ts";
import { Passage, type Provenance } from "../../running/provenance.ts";
import { RunningModulator } from "../../running/running-modulator.ts";
import { Stretches } from "../../running/stretches.ts";
import { ChannelTypes, type Surroundings } from "../../running/surroundings.ts";
import {
  type ContextValue,
  DEFAULT_LIMITS,
  type Declared,
  type Engine,
  type Limits,
  type RunChunk,
} from "../../sandbox/sandbox.ts";
import { decodeValues, encodeValues, type Value } from "../../sandbox/values.ts";
import { LentRun } from "../lent-run.ts";
import { type HostClock, Periods, SYSTEM_CLOCK } from "../periods.ts";
import {
  handOut,
  type InstallRequest,
  type ModulatorStats,
  NO_STATS,
  type StateUpdate,
  type Tier,
  type TierEvents,
  tell,
} from "../tier.ts";

const WATCH = { enter() {}, leave() {} };

/** A modulator that a run concerns, and the numbers of the events in it that do, ascending; undefined for all. */
export interface ConcernedModulator {
  readonly derived: number;
  readonly picks: readonly number[] | undefined;
}

interface Local {
  readonly running: RunningModulator;
  readonly stats: ModulatorStats;
  readonly passage: Passage;
  readonly feed: LocalFeed;
  /** Events of the feed before the modulator came. */
  readonly before: number;
  /** The number of the feed's stretches up to which the modulator has said what it was given. */
  said: number;
  /** Runs that the turn has made, which are handed out when it has ended. */
  made: EventsFrame[];
}

/** A channel's modulators, and what each of them was given. */
class LocalFeed {
  readonly modulators = new Map<number, Local>();
  /** Modulators with events in their queues: which stretches these hold up is known by turns alone. */
  readonly waiting = new Set<Local>();
  readonly stretches = new Stretches();
  events = 0;
}

const NO_PICKS: readonly number[] = [];
/** One list for all that have made nothing: with many modulators, what each has of its own is what no cache holds. */
const NO_RUNS: EventsFrame[] = [];

/**
 * Modulators that run in the producer's own thread, on the events where they lie: those whose source the producer has itself, and those
 * whose text is compiled. One that throws, makes too much or refuses its parameters is removed like any other; there is nothing to end
 * one that does not return.
 */
export class LocalTier implements Tier {
  readonly #events: TierEvents;
  readonly #limits: Limits;
  readonly #modulators = new Map<number, Local>();
  /** By the channel that modulators are fed with: each run asks for them. */
  readonly #feeds = new Map<number, LocalFeed>();
  readonly #surroundings: Surroundings;
  readonly #periods: Periods;
  readonly #types = new ChannelTypes();
  readonly #views = new Map<number, Map<string, ContextValue>>();
  /** Tag of the run that the modulators are working on. */
  #tag: string | undefined;
  /** The modulator at work. */
  #working: Local | undefined;
  #isClosed = false;
  readonly #seen = (derived: number, of: Provenance): void => tell(() => this.#events.onSeen?.(derived, of));

  /** @param engine runs modulators in this thread, and does not let them do harm */
  constructor(
    engine: Engine,
    { limits, clock = SYSTEM_CLOCK }: { limits?: Partial<Limits> | undefined; clock?: HostClock | undefined },
    events: TierEvents,
  ) {
    this.#events = events;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#surroundings = {
      engine,
      limits: this.#limits,
      watch: WATCH,
      room: events.room,
      write: bytes => this.#written(bytes),
      called: (derived, calls) => {
        for (const { name, values } of decodeValues(calls))
          tell(() => events.onCall?.(derived, name, values));
      },
      impaired: (derived, why) => tell(() => events.onImpaired?.(derived, why)),
      pause() {},
      types: this.#types,
      views: this.#views,
      get timeMs() {
        return clock.now();
      },
    };
    this.#periods = new Periods(clock, derived => this.#period(derived));
  }

  async install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared> {
    const { derived, channel, schema, further = [], modulator } = request;
    const { offers = MOE_OFFERS, context = new Map<string, Value>(), behind = 0 } = request;
    if (this.#isClosed) throw new JechoError("CLOSED", "the modulators' environment is closed");
    for (const [name, value] of context) this.setContext(channel, name, value);
    for (const other of further) this.addType(channel, other);
    const running = new RunningModulator(
      { channel, derived, modulator, offers: grantsOf(offers, modulator), behind },
      schema,
      this.#surroundings,
    );
    this.#unfeed(derived);
    const feed = this.#feeds.get(channel) ?? new LocalFeed();
    this.#feeds.set(channel, feed);
    feed.stretches.close();
    const local: Local = {
      running,
      stats: { ...NO_STATS },
      passage: new Passage(derived, this.#seen),
      feed,
      said: feed.stretches.now,
      before: feed.events,
      made: NO_RUNS,
    };
    this.#modulators.set(derived, local);
    feed.modulators.set(derived, local);
    this.#periods.set(derived, running.periodMs);
    const declared = { schema: running.schema, reads: running.reads, needs: running.needs };
    onInstalled?.(declared);
    return declared;
  }

  addType(channel: number, schema: Uint8Array): void {
    this.#types.add(channel, schema);
  }

  remove(derived: number): void {
    const local = this.#modulators.get(derived);
    if (local !== undefined) this.#tellSeen(local);
    local?.running.remove();
    this.forget(derived);
  }

  update(update: StateUpdate): void {
    for (const local of this.#modulators.values()) {
      const { running } = local;
      const isNew = running.update({ kind: "ObjectUpdate", derived: 0, ...update });
      if (isNew && running.mostPerSecond > 0) this.#turn(local, () => running.flush());
    }
  }

  setContext(channel: number, name: string, value: Value): void {
    const views = this.#views.get(channel) ?? new Map<string, ContextValue>();
    const view = { name, value: encodeValues([{ name, values: [value] }]) };
    this.#views.set(channel, views.set(name, view));
    for (const { running } of this.#modulators.values())
      if (running.channel === channel) running.setContext(view);
  }

  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean {
    const feed = this.#feeds.get(run.channel);
    if (feed === undefined) return false;
    // What is made of one run may be fed to others at once.
    const outer = this.#tag;
    this.#tag = tag;
    const events = run.stretch();
    const { bytes, bounds, first, end } = events;
    const chunks: readonly RunChunk[] = [{ bytes, bounds, first, end, isLent: run instanceof LentRun }];
    const { token, producer, flags, versions, count } = run;
    const call = (local: Local, picks?: readonly number[]): void => {
      this.#turn(local, () => local.running.run(chunks, token, producer, flags, versions, picks), of, count);
    };
    const concerned = this.concerned(run, events);
    if (concerned === undefined) {
      // A modulator's output may be what ends another one.
      for (const local of [...feed.modulators.values()]) if (isThere(local)) call(local);
    } else this.#given(feed, this.#callConcerned(feed, concerned, call), of);
    feed.events += count;
    this.#tag = outer;
    if (tag !== undefined) tell(() => this.#events.onDone?.(tag));
    return true;
  }

  /** The modulators that a run concerns: the others would let none of its events through, and keep nothing of them. Undefined for all. */
  protected concerned(
    _run: EventsFrame | LentRun,
    _events: Stretch,
  ): readonly ConcernedModulator[] | undefined {
    return undefined;
  }

  /** Calls those that a run concerns, and those with events in their queues. @returns who was called */
  #callConcerned(
    { modulators, waiting }: LocalFeed,
    concerned: readonly ConcernedModulator[],
    call: (local: Local, picks?: readonly number[]) => void,
  ): Local[] {
    const others = waiting.size === 0 ? waiting : new Set(waiting);
    const called: Local[] = [];
    for (const { derived, picks } of concerned) {
      const local = modulators.get(derived);
      if (local === undefined) continue;
      others.delete(local);
      called.push(local);
      call(local, picks);
    }
    for (const local of others === waiting ? [] : others) {
      if (!isThere(local)) continue;
      called.push(local);
      call(local, NO_PICKS);
    }
    return called;
  }

  /** These modulators were called with a stretch, and the feed's others are told of it when they are asked. */
  #given(feed: LocalFeed, called: readonly Local[], of: Provenance | undefined): void {
    if (of === undefined) return;
    let present = 0;
    for (const local of called) if (isThere(local)) present++;
    if (present === feed.modulators.size) return;
    feed.stretches.add(of);
    for (const local of called) local.said = feed.stretches.now;
    tell(() => this.#events.onUnseen?.());
  }

  pass(channel: number, of: Provenance): void {
    for (const local of this.#feeds.get(channel)?.modulators.values() ?? []) {
      this.#tellSeen(local);
      local.passage.turned(of, 0, local.running.waiting);
    }
  }

  tellSeen(derived?: number): void {
    const only = derived === undefined ? undefined : this.#modulators.get(derived);
    if (only !== undefined) this.#tellSeen(only);
    if (derived !== undefined) return;
    for (const { stretches, modulators } of this.#feeds.values()) {
      if (stretches.isEmpty) continue;
      for (const local of modulators.values()) this.#tellSeen(local);
      stretches.clear();
    }
  }

  /** A modulator was not called with what did not concern it, but has been through that. */
  #tellSeen(local: Local): void {
    const { feed, passage, said } = local;
    if (said === feed.stretches.now) return;
    local.said = feed.stretches.now;
    const waiting = feed.waiting.has(local) ? local.running.waiting : 0;
    for (const of of feed.stretches.since(said)) passage.turned(of, 0, waiting);
  }

  flow(derived: number, ready: boolean): void {
    const local = this.#modulators.get(derived);
    if (local === undefined || local.running.ready === ready) return;
    local.running.ready = ready;
    if (ready) this.#turn(local, () => local.running.flush());
  }

  endPeriod(derived: number): boolean {
    return this.#periods.now(derived);
  }

  mostPerSecond(derived: number): number {
    return this.#modulators.get(derived)?.running.mostPerSecond ?? 0;
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  /** Number of newest events from the oldest that waits in a modulator's queue on; 0 where none waits. */
  protected waiting(derived: number): number {
    return this.#modulators.get(derived)?.running.waiting ?? 0;
  }

  /** The schema of the type with this token, as it was told for the channel. */
  protected schemaOf(channel: number, token: bigint): Uint8Array | undefined {
    return this.#types.find(channel, token);
  }

  get modulators(): ReadonlyMap<number, ModulatorStats> {
    return new Map(
      [...this.#modulators].map(([derived, { running, stats, feed, before }]) => [
        derived,
        { ...stats, eventsIn: feed.events - before, eventsOut: running.eventsOut },
      ]),
    );
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#modulators.clear();
    this.#feeds.clear();
    this.#periods.clear();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #period(derived: number): void {
    const local = this.#modulators.get(derived);
    if (local === undefined) return;
    this.#turn(local, () => local.running.period());
    this.#periods.done(derived);
  }

  #turn(local: Local, act: () => number, of?: Provenance, events = 0): void {
    const { running, stats, passage, feed } = local;
    const { derived, periodMs, mostPerSecond } = running;
    this.#tellSeen(local);
    const outer = this.#working;
    this.#working = local;
    try {
      stats.dropped += act();
      this.#working = outer;
      const isGathered = of === undefined && local.made.length > 0;
      if (isGathered) tell(() => this.#events.onGathered?.(derived));
      passage.turned(of, events, running.waiting);
      if (running.waiting > 0) feed.waiting.add(local);
      else feed.waiting.delete(local);
      handOut(made(local), (run, isLast) => this.#handOut(run, derived, isLast));
      if (isGathered) tell(() => this.#events.onGathered?.(derived));
      if (running.periodMs !== periodMs) this.#periods.set(derived, running.periodMs);
      if (running.mostPerSecond !== mostPerSecond) tell(() => this.#events.onRate?.(derived));
    } catch (thrown) {
      this.#working = outer;
      if (this.goesOn(derived, thrown)) return;
      for (const run of made(local)) this.#handOut(run, derived, false);
      this.forget(derived);
      tell(() => this.#events.onRemoved(derived, JechoError.from(thrown)));
    }
  }

  /** A modulator has made a run in its turn. */
  #written(bytes: Uint8Array): void {
    const local = this.#working;
    if (local === undefined) return;
    const run = EventsFrame.at(bytes);
    local.stats.bytesOut += bytes.byteLength;
    if (local.made === NO_RUNS) local.made = [run];
    else local.made.push(run);
  }

  #handOut(run: EventsFrame, derived: number, isLast: boolean): void {
    tell(() => this.#events.onEvents(run, derived, this.#tag, isLast));
  }

  #unfeed(derived: number): void {
    const local = this.#modulators.get(derived);
    if (local === undefined) return;
    const { feed, running } = local;
    feed.modulators.delete(derived);
    feed.waiting.delete(local);
    if (feed.modulators.size === 0) this.#feeds.delete(running.channel);
  }

  /** Whether a modulator whose turn ended so goes on elsewhere; it has left then. */
  protected goesOn(_derived: number, _thrown: unknown): boolean {
    return false;
  }

  /** Nothing more of a modulator comes. */
  protected forget(derived: number): void {
    this.#unfeed(derived);
    this.#modulators.delete(derived);
    this.#periods.set(derived, 0);
  }
}

/** Whether a modulator is still there. */
function isThere(local: Local): boolean {
  const { feed, running } = local;
  return feed.modulators.get(running.derived) === local;
}

function made(local: Local): readonly EventsFrame[] {
  const { made } = local;
  local.made = NO_RUNS;
  return inPieces(made);
}
