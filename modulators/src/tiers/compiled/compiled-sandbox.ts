import { JechoError, type Type } from "@jecho/shared";
import type { Stretch } from "@jecho/shared/internal";
import {
  type Declared,
  type Engine,
  type Limits,
  type ObjectState,
  type Program,
  type RunChunk,
  type Sandbox,
  soundPeriod,
  type Turn,
  UNASKED_BYTES,
} from "../../sandbox/sandbox.ts";
import { beginRemainders } from "./builtins.ts";
import { TIMINGS } from "./class-text.ts";
import { readText } from "./compiler.ts";
import { type CostFormula, MOST_PER_RUN, stepsFor } from "./cost.ts";
import { EventWindow } from "./event-window.ts";
import { fieldOf } from "./fields.ts";
import { GivenData } from "./given-data.ts";
import { KeptArrays, MOST_BYTES } from "./kept-arrays.ts";
import type { KeptContainer } from "./kept-container.ts";
import { type KeptEvent, KeptEvents } from "./kept-events.ts";
import { LeavingEvents, stretchOf } from "./leaving-events.ts";
import { PassQueue } from "./pass-queue.ts";
import {
  failureOf,
  type ProgramInstance,
  ProgramInstances,
  type SharedInstances,
} from "./program-instances.ts";
import { Refusal } from "./refusal.ts";
import type { RunBudget, RunShare } from "./run-budget.ts";
import { StoppedProgram } from "./stopped-program.ts";
import { ANSWER, WINDOW } from "./window-layout.ts";

/** Runs compiled modulators in this thread. What they read of events are copies, and all that they write are answers. */
/** @param budget what a run may take in all of them */
export function compiledEngine(mostPerEvent: number, budget: RunBudget): Engine {
  const window = new EventWindow();
  const shared: SharedInstances = new WeakMap();
  return {
    name: "compiled",
    isTrusted: true,
    prepare() {},
    create: limits => new CompiledSandbox(window, shared, limits, mostPerEvent, budget),
  };
}

/** Events of a chunk, `left` of which leave: those of these numbers, or else those from `first` on. */
interface AnsweredEvents {
  readonly chunk: RunChunk;
  readonly type: number;
  readonly first: number;
  readonly picks: readonly number[] | undefined;
  readonly left: number;
}

const TOO_DEAR =
  "the compiled modulators of its channel together hold their producer for too long, and it takes most of that";

/** Bound of the steps for these events of a chunk; undefined for all. */
function boundOf(
  cost: CostFormula,
  { bounds, first, end }: RunChunk,
  picks: readonly number[] | undefined,
): number {
  const bytes = (bounds[2 * end - 1] as number) - (bounds[2 * first] as number);
  const [count, of] = [picks?.length ?? end - first, end - first];
  return stepsFor(cost, count, count === of ? bytes : (bytes * count) / of);
}

/** Steps of the host's for an event that a program's `dequeue` gives. */
const LEAVING_STEPS = 200;

function eachOf(picks: readonly number[] | undefined, first: number, end: number): readonly number[][] {
  return picks?.map(i => [i]) ?? Array.from({ length: end - first }, (_, i) => [first + i]);
}

/** Variables of what a modulator says of its timing. */
const TIMING_VARIABLES = TIMINGS.flatMap(name => fieldOf(name, { is: "number" }).globals);

/** One compiled modulator. */
class CompiledSandbox implements Sandbox {
  readonly cpuMs = 0;
  readonly checksInput = false;
  periodMs = 0;
  mostPerSecond = 0;
  readonly #window: EventWindow;
  readonly #shared: SharedInstances;
  /** Undefined while nothing waits. */
  #queue: PassQueue | undefined;
  readonly #limits: Limits;
  readonly #mostPerEvent: number;
  readonly #budget: RunBudget;
  readonly #share: RunShare = { isTooDear: false };
  #instances: ProgramInstances | undefined;
  readonly #arrays: KeptArrays;
  /** Undefined where its programs have no fields. */
  #kept: KeptEvents | undefined;
  #keptBytes = 0;
  /** Events, and their bytes, that it was given while the transport was not ready, since it was asked for its output last. */
  #unasked = 0;
  #unaskedBytes = 0;
  /** Steps that the turn has left. */
  #left = 0;
  /** The type that the class says it was written for. */
  #input: Type | undefined;
  #behind: readonly number[] = [];
  readonly #own = new Map<string, number>();
  /** Versions of the events that are let through now: replaced when they change. */
  #versions: readonly number[] = [];

  constructor(
    window: EventWindow,
    shared: SharedInstances,
    limits: Limits,
    mostPerEvent: number,
    budget: RunBudget,
  ) {
    this.#mostPerEvent = mostPerEvent;
    this.#budget = budget;
    this.#window = window;
    this.#arrays = new KeptArrays(window.heap);
    this.#shared = shared;
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#arrays.bytes + this.#keptBytes + (this.#queue?.bytes ?? 0);
  }

  load(): void {}

  install({ source, parameters, objects, behind, schemas, timeMs }: Program): Declared {
    const text = readText(source);
    if (text instanceof Refusal) throw new JechoError("MODULATOR_INVALID", text.message);
    const { input, output, needs } = text;
    this.#input = input;
    this.#instances = new ProgramInstances({
      window: this.#window,
      shared: this.#shared,
      functions: () => {
        this.#kept ??= new KeptEvents(this.#window);
        return { ...this.#kept.functions, reserve: (field, bytes) => this.#arrays.reserve(field, bytes) };
      },
      source,
      input,
      output,
      data: GivenData.read(parameters, objects),
      queueEvents: this.#limits.queueEvents,
    });
    for (const { name, version } of objects) this.#own.set(name, version);
    for (const schema of schemas) this.addType(schema);
    this.behind(new Array<number>(behind).fill(0));
    this.#window.showClock(timeMs);
    beginRemainders();
    const first = this.#instances.shown(1);
    first.functions.init();
    this.#settle(first);
    return { schema: output?.schema, reads: input?.schema, needs };
  }

  addType(schema: Uint8Array): void {
    this.#instances?.addType(schema);
  }

  mismatchOf(): undefined {
    return undefined;
  }

  update({ name, version, state }: ObjectState): void {
    // That there is a newer version counts for who asks for it, and no compiled modulator does.
    if (state === "") return;
    this.#instances?.update(name, state);
    this.#own.set(name, version);
    this.#compose();
  }

  behind(versions: readonly number[]): void {
    this.#behind = versions;
    this.#compose();
  }

  setContext(): void {}

  takeCalls(): undefined {
    return undefined;
  }

  get waiting(): number {
    return this.#queue?.since ?? 0;
  }

  run(chunk: RunChunk, type: number, turn: Turn): number {
    const { picks } = turn;
    const instance = this.#begin(type, turn, picks?.length ?? chunk.end);
    const bound = boundOf(instance.program.cost, chunk, picks);
    if (!this.#budget.allows(this.#share, bound)) throw new StoppedProgram(TOO_DEAR);
    const leaving = turn.ready || this.#mayNotWait(chunk) ? new LeavingEvents() : undefined;
    const { slots, isAlone, keeps, stops } = instance.program;
    this.#drain(instance, leaving);
    const most = slots === 0 ? WINDOW.mostEvents : Math.floor(WINDOW.madeBytes / (8 * slots));
    for (let at = 0, next = 0; at < chunk.end; ) {
      if (picks !== undefined && next === picks.length) break;
      const end = Math.min(this.#window.show(chunk, at).end, at + most);
      let here: readonly number[] | undefined;
      if (picks !== undefined) {
        const from = next;
        while ((picks[next] ?? end) < end) next++;
        here = picks.slice(from, next);
        this.#window.pick(chunk, here);
      }
      for (const part of isAlone ? eachOf(here, at, end) : [here]) {
        if (isAlone) this.#window.pick(chunk, part as readonly number[]);
        if (keeps) this.#kept?.give(chunk, part?.[0], type);
        const left = instance.functions.run(part?.length ?? end - at);
        if (left < 0) throw failureOf((-1 - left) >> 13, stops);
        this.#leave({ chunk, type, first: at, picks: part, left }, instance, leaving);
        if (keeps) this.#leaveKept(leaving, (part?.[0] ?? 0) + 1);
        this.#drain(instance, leaving);
        this.#arrays.settle();
      }
      at = end;
    }
    this.#end(instance, turn, leaving);
    this.#queue?.give(chunk.end);
    this.#budget.spend(this.#share, bound + this.#window.usedFuel);
    return 0;
  }

  period(turn: Turn): number {
    const instance = this.#begin(1, turn, 0);
    const leaving = turn.ready ? new LeavingEvents() : undefined;
    this.#kept?.give();
    instance.functions.period?.();
    this.#leaveKept(leaving, 0);
    this.#drain(instance, leaving);
    this.#arrays.settle();
    this.#end(instance, turn, leaving);
    return 0;
  }

  /** Whether these events are more than may wait for the transport. */
  #mayNotWait({ bounds, first, end }: RunChunk): boolean {
    this.#unasked += end - first;
    this.#unaskedBytes += (bounds[2 * end - 1] ?? 0) - (bounds[2 * first] ?? 0);
    return this.#unasked >= this.#limits.queueEvents || this.#unaskedBytes >= UNASKED_BYTES;
  }

  /** Shows a program what it may read in this turn, and how many steps it may take. */
  #begin(type: number, { timeMs }: Turn, events: number): ProgramInstance {
    beginRemainders();
    const instance = (this.#instances as ProgramInstances).shown(type);
    const { isCounted, cost } = instance.program;
    this.#window.showClock(timeMs);
    // What is bounded by the text is taken as used.
    this.#left = Math.max(MOST_PER_RUN - cost.steps * events, 0);
    const ofRun = isCounted ? Math.min(this.#left, this.#budget.fuel) : 0;
    this.#window.showFuel(Math.max(this.#mostPerEvent - cost.steps, 0), ofRun);
    return instance;
  }

  /** Lets all events go that the modulator's own `dequeue` gives now. @throws StoppedProgram */
  #drain({ functions, program }: ProgramInstance, leaving: LeavingEvents | undefined): void {
    if (functions.dequeue === undefined || leaving === undefined) return;
    this.#kept?.give();
    for (;;) {
      const event = functions.dequeue();
      if (event === null) return;
      this.#left -= LEAVING_STEPS + program.dequeueSteps;
      if (this.#left < 0) throw new StoppedProgram("more events leave at once than are compiled");
      leaving.add(stretchOf(event.bytes), event.type, event.isUrgent, this.#versions);
    }
  }

  /** The turn has ended well: what leaves goes out. */
  #end(instance: ProgramInstance, { emit }: Turn, leaving: LeavingEvents | undefined): void {
    this.#settle(instance);
    if (leaving === undefined && !this.#queue?.isFull) return;
    this.#unasked = this.#unaskedBytes = 0;
    this.#queue?.flush(emit);
    this.#queue = undefined;
    leaving?.send(emit);
  }

  /** Reads what the modulator says of its timing, and looks at what it keeps. @throws StoppedProgram */
  #settle({ program }: ProgramInstance): void {
    if (program.state === "") return;
    const instances = this.#instances as ProgramInstances;
    const [periodMs = 0, mostPerSecond = 0] = TIMING_VARIABLES.map(
      global => instances.valueOf(global) as number | undefined,
    );
    if (!(periodMs >= 0 && mostPerSecond >= 0))
      throw new StoppedProgram("its periodMs or mostPerSecond is no number from 0");
    this.periodMs = soundPeriod(periodMs);
    this.mostPerSecond = mostPerSecond < Number.POSITIVE_INFINITY ? mostPerSecond : 0;
    if (!program.keeps) return;
    this.#keptBytes = 0;
    for (const global of program.globals)
      if (global.type === "ref")
        this.#keptBytes += (instances.valueOf(global) as KeptEvent | KeptContainer | null)?.heldBytes ?? 0;
    if (this.#keptBytes > MOST_BYTES)
      throw new StoppedProgram("it keeps events, or numbers in maps, of more bytes than are compiled");
  }

  /**
   * Lets events go that the program has answered for.
   *
   * @param leaving undefined while the transport is not ready: they wait
   */
  #leave(
    { chunk, type, first, picks, left }: AnsweredEvents,
    { maker, program }: ProgramInstance,
    leaving: LeavingEvents | undefined,
  ): void {
    const { answers, numbers } = this.#window;
    for (let at = 0, rest = left; rest > 0; at++) {
      const answer = answers[at] as number;
      if (answer === ANSWER.discard) continue;
      rest--;
      const i = picks === undefined ? first + at : (picks[at] as number);
      const isMade = maker !== undefined && answer >= ANSWER.made;
      const event = isMade
        ? maker.make(answer - ANSWER.made, chunk, i, numbers, program.slots * at)
        : { ...chunk, first: i, end: i + 1 };
      // What is made has the type that the class says, where it says one.
      const of = isMade && this.#input !== undefined ? 0 : type;
      const urgent = isMade ? maker.isUrgent(answer - ANSWER.made) : answer === ANSWER.urgent;
      this.#out(event, of, urgent, leaving, i + 1);
    }
  }

  /** Lets kept events go that the program has let through. @param given events of the chunk by then */
  #leaveKept(leaving: LeavingEvents | undefined, given: number): void {
    for (const event of this.#kept?.takePassed() ?? [])
      this.#out(stretchOf(event.bytes), event.type, event.isUrgent, leaving, given);
  }

  #out(
    event: Stretch,
    type: number,
    urgent: boolean,
    leaving: LeavingEvents | undefined,
    given: number,
  ): void {
    if (leaving !== undefined) return leaving.add(event, type, urgent, this.#versions);
    this.#queue ??= new PassQueue(this.#limits.queueEvents);
    this.#queue.keep(event, event.first, { versions: this.#versions, urgent, type }, given);
  }

  remove(): void {}

  dispose(): void {
    this.#instances?.clear();
    this.#arrays.clear();
  }

  #compose(): void {
    this.#versions = [...this.#behind, ...this.#own.values()];
  }
}
