import { JechoError, Type } from "@jecho/shared";
import {
  EventsFrame,
  FLAG_URGENT,
  type Install,
  measureRun,
  type ObjectUpdate,
  type Passed,
  type Stretch,
  writeRun,
} from "@jecho/shared/internal";
import type { ChannelTypes } from "./channel-types.ts";
import { InputTypes } from "./input-types.ts";
import { isStarved, unsound } from "./sandbox/failures.ts";
import {
  CHUNK_BYTES,
  CHUNK_EVENTS,
  type Chunk,
  type ContextValue,
  type Emit,
  type Engine,
  type Limits,
  type ObjectState,
  type Program,
  type Sandbox,
  type Turn,
  type Watch,
} from "./sandbox/sandbox.ts";

/** What an event may cost in any case: how many there are is the producer's doing. */
const FREE_MS_PER_EVENT = 1;
/** How much longer a call may take on the wall at the first, second, ... attempt on a machine too busy to run it. */
const PATIENCE = [1, 4, 8] as const;

/** Takes a frame; unless the engine is trusted, it lies in memory to be written again. */
export type WriteFrame = (frame: Uint8Array) => void;

/** A modulator where it runs, in whatever tier: its sandbox, its limits, and the frames of its derived channel. */
export class RunningModulator {
  readonly derived: number;
  readonly channel: number;
  /** What it makes, if it declares another type than it takes. */
  schema: Uint8Array | undefined;
  ready = true;
  readonly #engine: Engine;
  readonly #limits: Limits;
  readonly #watch: Watch;
  readonly #write: WriteFrame;
  readonly #surroundings: Surroundings;
  readonly #pause: () => void;
  readonly #isTrusted: boolean;
  readonly #program: Omit<Program, "context" | "timeMs" | "schemas">;
  /** The names of its shared objects, by their ids; which of its copies are lazy, by their names. */
  readonly #ids: ReadonlyMap<string, readonly string[]>;
  readonly #lazy: ReadonlySet<string>;
  /** The newest states of its shared objects by name, as far as they have changed; and those that the sandbox does not have yet. */
  readonly #states = new Map<string, ObjectState>();
  readonly #updates = new Map<string, ObjectState>();
  /** Of lazy copies: the versions that there are, by name; and those that the sandbox does not know of yet. */
  readonly #heard = new Map<string, number>();
  readonly #hearings = new Map<string, number>();
  /** What its input is made with, and what the sandbox takes it to be. */
  #behind: readonly number[];
  #known: readonly number[];
  readonly #budget: TimeBudget;
  #sandbox: Sandbox;
  readonly #types: InputTypes;
  /** The number of the newest run's type. */
  #type = 0;
  /** What it declares that it makes. */
  #declared: Type | undefined;
  #raised = 0;
  /** Who raised the newest events that it has seen. */
  #producer = 0;
  #needs: readonly string[] = [];
  /** Views of the producer's state that the sandbox does not have yet, by name. */
  readonly #views = new Map<string, ContextValue>();
  #frame = new Uint8Array(0);
  #view = new DataView(this.#frame.buffer);
  #batchBytes = 0;
  #batchEvents = 0;
  /** What came in last, where what passes lies, and how many events of its run lie before that. */
  #input: Uint8Array | undefined;
  #before = 0;

  /**
   * @param schema of what comes in, at first; undefined for opaque bytes
   * @throws JechoError why it cannot be installed
   */
  constructor(install: Install, schema: Uint8Array | undefined, surroundings: Surroundings) {
    const { modulator } = install;
    if (modulator === undefined) throw new JechoError("FRAME_UNEXPECTED", "an Install without its modulator");
    const { engine, limits, watch, write, pause } = surroundings;
    checkSizes(modulator, limits);
    this.derived = install.derived;
    this.channel = install.channel;
    this.#surroundings = surroundings;
    this.#engine = engine;
    this.#isTrusted = engine.isTrusted;
    this.#limits = limits;
    this.#watch = watch;
    this.#write = write;
    this.#pause = pause;
    this.#budget = new TimeBudget(limits);
    this.#program = { ...modulator, offers: install.offers, behind: install.behind };
    this.#types = new InputTypes(
      token => surroundings.types.find(this.channel, token),
      mismatch => surroundings.impaired(this.derived, mismatch),
    );
    if (schema !== undefined) this.#type = this.#types.add(schema);
    this.#behind = new Array<number>(install.behind).fill(0);
    this.#known = this.#behind;
    this.#lazy = new Set(modulator.objects.filter(({ lazy }) => lazy).map(({ name }) => name));
    const ids = new Map<string, string[]>();
    for (const { name, object } of modulator.objects) ids.set(object, [...(ids.get(object) ?? []), name]);
    this.#ids = ids;
    this.#sandbox = this.#installed();
    this.#sendCalls();
  }

  /** The schema (.bfbs) of what it was written for; undefined where it takes whatever comes. */
  get reads(): Uint8Array | undefined {
    return this.#types.reads?.schema;
  }

  get eventsOut(): number {
    return this.#raised;
  }

  get cpuMs(): number {
    return this.#sandbox.cpuMs;
  }

  /** How often it wants its period called; 0 for not at all. */
  get periodMs(): number {
    return this.#sandbox.periodMs;
  }

  /** Events a second that it wants at most of a producer; 0 for every event. */
  get mostPerSecond(): number {
    return this.#sandbox.mostPerSecond;
  }

  get needs(): readonly string[] {
    return this.#needs;
  }

  /** A view of the producer's state; it counts from the next call on. */
  setContext(context: ContextValue): void {
    if (this.#needs.includes(context.name)) this.#views.set(context.name, context);
  }

  /**
   * A new state of a shared object, which counts from the next call on. A lazy copy hears of it, unless it has pulled it.
   *
   * @returns is there a new state to count?
   */
  update({ object, version, state, derived }: ObjectUpdate): boolean {
    if (derived !== 0 && derived !== this.derived) return false;
    for (const name of this.#ids.get(object) ?? []) {
      const isLazy = this.#lazy.has(name);
      if (state === "" || (isLazy && derived === 0)) {
        if (isLazy) {
          this.#heard.set(name, version);
          this.#hearings.set(name, version);
        }
        continue;
      }
      if (state.length > this.#limits.parametersBytes) throw objectTooLarge();
      const newest = { name, version, state };
      this.#states.set(name, newest);
      this.#updates.set(name, newest);
    }
    return this.#updates.size > 0;
  }

  /**
   * Takes a run of events, cut into chunks, and writes frames of what comes out.
   *
   * @param token names the type that they were written with
   * @param producer the number of who raised them
   * @param flags of the run, which hold for what is made of it, too
   * @param versions that the run was made with
   * @returns events dropped by the modulator's queue, or all of them where it cannot read them
   * @throws JechoError why it has to be removed
   */
  run(
    chunks: readonly Chunk[],
    token: bigint,
    producer: number,
    flags: number,
    versions: readonly number[],
  ): number {
    if (!this.#types.canRead(token, producer))
      return chunks.reduce((events, { bounds }) => events + bounds.length / 2, 0);
    if (this.#behind.length > 0) this.#behind = this.#behind.map((_, i) => versions[i] ?? 0);
    this.#type = this.#types.numberOf(token, schema => this.#sandbox.addType(schema));
    this.#producer = producer;
    return this.#run(chunks, flags);
  }

  /** Writes frames of what waits. @returns and throws as `run` */
  flush(): number {
    return this.#run([NO_EVENTS], 0);
  }

  #run(chunks: readonly Chunk[], flags: number): number {
    this.#batchBytes = 0;
    this.#batchEvents = 0;
    let dropped = 0;
    this.#before = 0;
    for (const chunk of chunks) {
      this.#input = chunk.bytes;
      dropped += this.#turn(flags, chunk.end, turn => this.#sandbox.run(chunk, this.#type, turn));
      this.#before += chunk.end;
      this.#pause();
    }
    return dropped;
  }

  /** Its period is over. @returns and throws as `run` */
  period(): number {
    this.#batchBytes = 0;
    this.#batchEvents = 0;
    return this.#turn(0, 0, turn => this.#sandbox.period(turn));
  }

  /** Tells the modulator that it is removed, and ends it. What it fails at now is nobody's trouble. */
  remove(): void {
    try {
      this.#sandbox.remove();
      this.#sendCalls();
    } catch {}
    this.dispose();
  }

  dispose(): void {
    this.#sandbox.dispose();
  }

  #turn(flags: number, events: number, act: (turn: Turn) => number): number {
    for (let starved = 0; ; starved++) {
      const before = this.#sandbox.cpuMs;
      let written = false;
      try {
        for (const update of this.#updates.values()) this.#sandbox.update(update);
        this.#updates.clear();
        for (const [name, version] of this.#hearings) this.#sandbox.update({ name, version, state: "" });
        this.#hearings.clear();
        if (this.#known.some((version, i) => version !== this.#behind[i])) this.#sandbox.behind(this.#behind);
        this.#known = this.#behind;
        for (const view of this.#views.values()) this.#sandbox.setContext(view);
        this.#views.clear();
        const { timeMs } = this.#surroundings;
        const emit: Emit = (made, versions, urgent, type) => {
          written = true;
          this.#writeRun(made, versions, urgent ? flags | FLAG_URGENT : flags, this.#madeType(type));
        };
        const dropped = act({ ready: this.ready, timeMs, emit });
        this.#sendCalls();
        this.#budget.spend(this.#sandbox.cpuMs - before - FREE_MS_PER_EVENT * events);
        return dropped;
      } catch (error) {
        if (written || !isStarved(error) || starved === PATIENCE.length - 1) throw error;
        // Ended on a machine too busy to run it: that is not its fault, so it starts anew.
        this.#sandbox.dispose();
        this.#sandbox = this.#installed(starved + 1);
        const { message } = JechoError.from(error);
        this.#surroundings.impaired(this.derived, new JechoError("MODULATOR_RESTARTED", message));
      }
    }
  }

  #installed(first = 0): Sandbox {
    for (let starved = 0; ; starved++) {
      const patience = PATIENCE[first + starved] ?? 1;
      const { callMs, installMs } = this.#limits;
      const limits = {
        ...this.#limits,
        callMs: callMs * patience,
        installMs: installMs * Math.min(patience, PATIENCE[1]),
      };
      const sandbox = this.#engine.create(limits, this.#watch);
      try {
        const states = this.#program.objects.map(object => this.#states.get(object.name) ?? object);
        this.#updates.clear();
        for (const [name, version] of this.#heard) this.#hearings.set(name, version);
        this.#known = this.#behind.map(() => 0);
        const { timeMs, views } = this.#surroundings;
        const context = [...(views.get(this.channel)?.values() ?? [])];
        const { schemas } = this.#types;
        const declared = sandbox.install({ ...this.#program, schemas, objects: states, context, timeMs });
        this.schema = declared.schema;
        this.#types.readAs(declared.reads);
        this.#needs = declared.needs;
        this.#views.clear();
        this.#declared = this.schema && Type.fromSchema(this.schema);
        return sandbox;
      } catch (error) {
        sandbox.dispose();
        if (!isStarved(error) || starved > 0) throw error;
      }
    }
  }

  #sendCalls(): void {
    const calls = this.#sandbox.takeCalls();
    if (calls !== undefined) this.#surroundings.called(this.derived, calls);
  }

  /** What the sandbox says that it made. */
  #madeType(number: number): Type | undefined {
    if (this.#declared !== undefined) return this.#declared;
    const type = number === 0 ? this.#types.reads : this.#types.at(number);
    const areBytes = number === 0 && (this.#types.size === 0 || this.#type === 0);
    if (type === undefined && !areBytes) throw unsound();
    return type;
  }

  #writeRun(
    events: readonly Stretch[],
    made: readonly number[],
    flags: number,
    type: Type | undefined,
  ): void {
    const own = made.length - this.#behind.length;
    const versions = made.length > own || own > 1 ? made : undefined;
    const bytes = measureRun(events, versions);
    const count = events.reduce((sum, { first, end }) => sum + end - first, 0);
    this.#batchBytes += bytes;
    this.#batchEvents += count;
    if (this.#batchBytes > this.#limits.outputBytes || this.#batchEvents > this.#limits.outputEvents) {
      throw new JechoError(
        "MODULATOR_OUTPUT_EXCEEDED",
        `one batch made more than ${this.#limits.outputBytes} bytes or ${this.#limits.outputEvents} events`,
      );
    }
    const parameters =
      own === 1 ? (made[made.length - 1] as number) : Math.max(0, ...made.slice(made.length - own));
    const { passed } = this.#surroundings;
    if (passed !== undefined && events.every(({ bytes }) => bytes === this.#input)) {
      if (this.#declared !== undefined) throw unsound();
      this.#raised += count;
      passed({
        derived: this.derived,
        urgent: (flags & FLAG_URGENT) !== 0,
        parameters,
        versions: versions ?? [],
        ranges: events.flatMap(({ first, end }) => [this.#before + first, this.#before + end]),
      });
      return;
    }
    if (this.#isTrusted || bytes > this.#frame.byteLength) {
      this.#frame = new Uint8Array(bytes);
      this.#view = new DataView(this.#frame.buffer);
    }
    const header = {
      channel: this.derived,
      producer: this.#producer,
      raised: this.#raised,
      token: type?.token ?? 0n,
      parameters,
      flags,
      versions,
    };
    writeRun(this.#frame, this.#view, 0, header, events);
    if (!this.#isTrusted && type !== undefined) this.#checkMade(events, type);
    this.#raised += count;
    this.#write(this.#frame.subarray(0, bytes));
  }

  /** Copied first, checked then: what the modulator's memory says now counts no more. */
  #checkMade(events: readonly Stretch[], type: Type): void {
    const run = EventsFrame.at(this.#frame, 0, this.#view);
    let next = 0;
    for (const { bytes, first, end } of events) {
      const from = next;
      next += end - first;
      if (bytes === this.#input) {
        if (this.#declared !== undefined) throw unsound();
        continue;
      }
      for (let i = from; i < next; i++) {
        try {
          type.verify(this.#view, run.eventStart(i), run.eventEnd(i));
        } catch (error) {
          throw new JechoError("MODULATOR_FAILED", `it made a broken event: ${(error as Error).message}`);
        }
      }
    }
  }
}

/** Nothing that comes in: for what waits. */
const NO_EVENTS: Chunk = { bytes: new Uint8Array(0), bounds: [], first: 0, end: 0, isLent: false };

/** A run in pieces that a sandbox takes at once. */
export function chunksOf(run: EventsFrame): Chunk[] {
  const chunks: Chunk[] = [];
  let bounds: number[] = [];
  for (let i = 0; i < run.count; i++) {
    const start = run.eventStart(i);
    const end = run.eventEnd(i);
    const isFull = bounds.length === 2 * CHUNK_EVENTS || end - (bounds[0] ?? start) > CHUNK_BYTES;
    if (isFull && bounds.length > 0) {
      chunks.push(chunkOf(run.bytes, bounds));
      bounds = [];
    }
    bounds.push(start, end);
  }
  chunks.push(chunkOf(run.bytes, bounds));
  return chunks;
}

function chunkOf(bytes: Uint8Array, bounds: readonly number[]): Chunk {
  return { bytes, bounds, first: 0, end: bounds.length / 2, isLent: false };
}

/** What all modulators of a tier share. */
export interface Surroundings {
  readonly engine: Engine;
  readonly limits: Limits;
  readonly watch: Watch;
  readonly write: WriteFrame;
  /** Takes what leaves as it came, where who gave that still has it; else that is written like what is made. */
  readonly passed?: (passed: Omit<Passed, "kind">) => void;
  /** What the base channels' producers write. */
  readonly types: ChannelTypes;
  /** Views of producers' state, by base channel and name. */
  readonly views: ReadonlyMap<number, ReadonlyMap<string, ContextValue>>;
  /** Milliseconds since 1970, as the producer said last. */
  readonly timeMs: number;
  /** Takes what a modulator called, as encoded by values.ts; unchecked. */
  readonly called: (derived: number, calls: Uint8Array) => void;
  /** Told of a modulator that began anew, without the state that it had, or that cannot read what one writes, and why. */
  readonly impaired: (derived: number, why: JechoError) => void;
  /** Called between the calls of a long run. */
  readonly pause: () => void;
}

/** @throws JechoError `MODULATOR_TOO_LARGE`, `OBJECT_INVALID` */
export function checkSizes(
  {
    source,
    parameters,
    objects,
  }: { source: string; parameters: string; objects: readonly { state: string }[] },
  { sourceBytes, parametersBytes }: Limits,
): void {
  if (source.length > sourceBytes) throw tooLarge("the source");
  if (parameters.length > parametersBytes) throw tooLarge("the parameters");
  if (objects.some(({ state }) => state.length > parametersBytes)) throw objectTooLarge();
}

function objectTooLarge(): JechoError {
  return new JechoError("OBJECT_INVALID", "the state of a shared object is larger than the limit");
}

function tooLarge(what: string): JechoError {
  return new JechoError("MODULATOR_TOO_LARGE", `${what} is larger than the limit`);
}

/** Processor time that refills with the time on the wall. */
class TimeBudget {
  readonly #capacityMs: number;
  readonly #share: number;
  #leftMs: number;
  #then = performance.now();

  constructor({ timeShare, shareWindowMs }: Limits) {
    this.#share = timeShare;
    this.#capacityMs = timeShare * shareWindowMs;
    this.#leftMs = this.#capacityMs;
  }

  /** @throws JechoError `MODULATOR_TIMED_OUT` */
  spend(ms: number): void {
    const now = performance.now();
    this.#leftMs = Math.min(this.#capacityMs, this.#leftMs + this.#share * (now - this.#then));
    this.#then = now;
    if (ms > 0) this.#leftMs -= ms;
    if (this.#leftMs < 0) {
      throw new JechoError(
        "MODULATOR_TIMED_OUT",
        `it used more than ${100 * this.#share} % of a processor for too long`,
      );
    }
  }
}
