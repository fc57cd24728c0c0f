import { JechoError, type Type } from "@jecho/shared";
import type { EventsFrame, Stretch } from "@jecho/shared/internal";
import { typeOf } from "../../running/known-types.ts";
import type { Provenance } from "../../running/provenance.ts";
import type { Declared, Limits } from "../../sandbox/sandbox.ts";
import type { LentRun } from "../lent-run.ts";
import { type ConcernedModulator, LocalTier } from "../local/local-tier.ts";
import { type HostClock, SYSTEM_CLOCK } from "../periods.ts";
import type { InstallRequest, StateUpdate, TierEvents } from "../tier.ts";
import { CompileBudget } from "./compile-budget.ts";
import type { CompileThread } from "./compile-thread.ts";
import { compiledEngine } from "./compiled-sandbox.ts";
import {
  type CompiledProgram,
  canRead,
  compileFor,
  isKnown,
  readText,
  type TextVerdict,
  take,
} from "./compiler.ts";
import { type CostFormula, costText, MOST_PER_RUN, overlong, stepsFor } from "./cost.ts";
import { GivenData } from "./given-data.ts";
import { bytesOf, GuardedChannel } from "./guarded-channel.ts";
import type { Guard } from "./guards.ts";
import { Refusal } from "./refusal.ts";
import { RunBudget } from "./run-budget.ts";
import { StoppedProgram } from "./stopped-program.ts";

/** Steps that a modulator may take for one event, by default: a tenth of a millisecond at most. */
const MOST_PER_EVENT = 100_000;

const OTHER_FIELDS = new Refusal("events of several types make a field of several kinds");

/** A compiled modulator that has to run elsewhere from now on, and why. */
export interface Misfit {
  readonly derived: number;
  readonly why: Refusal;
}

/** A modulator that leaves the tier, as it is to be installed elsewhere. */
export interface LeavingModulator {
  readonly request: InstallRequest;
  readonly ready: boolean;
  /** Whether the modulator loses something: fields of its own, or events that wait. */
  readonly loses: boolean;
}

interface Compiled {
  request: InstallRequest;
  /** Parameters and states of the request. */
  data: GivenData;
  /** The program by the type of its events; undefined for types that it cannot read, and is given none of. */
  readonly programs: Map<bigint, CompiledProgram | undefined>;
  /** See `CheckedProgram`. */
  state: string;
  ready: boolean;
}

/**
 * The compiled tier: modulators of anybody whose text is proven to end soon and to do no harm. What comes later may not fit a program: a type
 * without one of its fields, an object of another shape, more or larger events than its cost allows. That is known before it is run
 * on them, and the tier says so, for the modulator to go on elsewhere.
 */
export class CompiledTier extends LocalTier {
  readonly #mostPerEvent: number;
  readonly #budget: RunBudget;
  readonly #compiling: CompileBudget;
  readonly #thread: CompileThread | undefined;
  readonly #onMisfit: (misfit: Misfit) => void;
  readonly #compiled = new Map<number, Compiled>();
  readonly #channels = new Map<number, GuardedChannel>();

  /**
   * @param options `thread`: compiles what is prepared; without one, this thread does
   * @param onMisfit told of a modulator that has stopped in a run, of which nothing has gone out: it takes the run again elsewhere
   */
  constructor(
    options: {
      limits?: Partial<Limits> | undefined;
      clock?: HostClock | undefined;
      mostPerEvent?: number | undefined;
      thread?: CompileThread | undefined;
    },
    events: TierEvents,
    onMisfit: (misfit: Misfit) => void,
  ) {
    const { mostPerEvent = MOST_PER_EVENT, clock = SYSTEM_CLOCK } = options;
    const budget = new RunBudget();
    super(compiledEngine(mostPerEvent, budget), options, events);
    this.#budget = budget;
    this.#compiling = new CompileBudget(clock);
    this.#thread = options.thread;
    this.#mostPerEvent = mostPerEvent;
    this.#onMisfit = onMisfit;
  }

  /** The reason why an installation has stopped that goes on elsewhere; undefined for one that has failed. */
  whyStopped(thrown: unknown): Refusal | undefined {
    return thrown instanceof StoppedProgram ? thrown : undefined;
  }

  protected override goesOn(derived: number, thrown: unknown): boolean {
    if (!(thrown instanceof StoppedProgram)) return false;
    this.#onMisfit({ derived, why: thrown });
    return true;
  }

  /**
   * Has a modulator's text compiled before it is installed, by another thread. What nobody has prepared, or changes later (types, shapes of states), is
   * compiled in this one.
   *
   * @returns undefined where nothing is to be waited for
   */
  prepare(request: InstallRequest): Promise<void> | undefined {
    const { schema, further = [], modulator, by = "" } = request;
    if (this.#thread === undefined || this.#mostPerEvent === 0 || schema === undefined) return undefined;
    const { source, parameters, objects } = modulator;
    const data = dataOf(request);
    const schemas = [schema, ...further];
    if (data instanceof Refusal || isKnown(source, schemas.map(typeOf), data)) return undefined;
    // The text is read and compiled: each counts, as it does in this thread.
    if (this.#compiling.take(2 * source.length, by) !== undefined) return undefined;
    const asked = {
      source,
      schemas,
      parameters,
      objects: objects.map(({ name, state }) => ({ name, state })),
    };
    return this.#thread.answerTo(asked).then(answer => answer && take(asked, answer));
  }

  /** The reason why a modulator cannot run here; undefined where it can. */
  refusalOf(request: InstallRequest): Refusal | undefined {
    if (this.#mostPerEvent === 0) return new Refusal("the producer has no modulator compiled");
    const { schema, further = [] } = request;
    if (schema === undefined) return new Refusal("events without a type are not compiled");
    const data = dataOf(request);
    if (data instanceof Refusal) return data;
    let known = "";
    for (const one of [schema, ...further]) {
      const verdict = this.#verdictOn({ request, data }, typeOf(one));
      if (verdict instanceof Refusal) return verdict;
      const { state = "" } = verdict ?? {};
      if (known !== "" && state !== "" && state !== known) return OTHER_FIELDS;
      known ||= state;
      const refusal = verdict && this.#overBudget(verdict.cost, verdict.cost.steps);
      if (refusal !== undefined) return refusal;
    }
    // Constructing it makes an instance for the first type.
    return this.#verdictOn({ request, data }, typeOf(schema)) === undefined
      ? new Refusal("it cannot read the channel's events")
      : undefined;
  }

  override async install(
    request: InstallRequest,
    onInstalled?: (declared: Declared) => void,
  ): Promise<Declared> {
    const { derived, channel, schema, further = [] } = request;
    const data = dataOf(request);
    if (data instanceof Refusal) throw new JechoError("MODULATOR_INVALID", data.message);
    const compiled: Compiled = { request, data, programs: new Map(), state: "", ready: true };
    this.#leave(derived);
    this.#compiled.set(derived, compiled);
    this.#channelOf(channel).add(derived);
    for (const one of schema === undefined ? [] : [schema, ...further]) this.#learn(compiled, one);
    try {
      return await super.install(request, onInstalled);
    } catch (error) {
      this.#leave(derived);
      throw error;
    }
  }

  protected override concerned(
    run: EventsFrame | LentRun,
    events: Stretch,
  ): readonly ConcernedModulator[] | undefined {
    return this.#channels.get(run.channel)?.concerned(run, events);
  }

  override enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean {
    const channel = this.#channels.get(run.channel);
    this.#budget.begin(
      channel?.size ?? 0,
      channel !== undefined && channel.size > 1 ? channel.mostFor(run) : 0,
    );
    try {
      return super.enqueue(run, tag, of);
    } finally {
      this.#budget.end();
    }
  }

  override flow(derived: number, ready: boolean): void {
    const compiled = this.#compiled.get(derived);
    if (compiled !== undefined) compiled.ready = ready;
    super.flow(derived, ready);
  }

  /** Modulators that cannot take events of this type. */
  misfitsOfType(channel: number, schema: Uint8Array): Misfit[] {
    return this.#misfits(this.#membersOf(channel), compiled => {
      const { request } = compiled;
      // A host that it goes on in has to know the type, too.
      compiled.request = { ...request, further: [...(request.further ?? []), schema] };
      return this.#learn(compiled, schema);
    });
  }

  /** Modulators that cannot go on with this state; the others' is that from here on. */
  misfitsOfState({ object, version, state, derived: only = 0 }: StateUpdate): Misfit[] {
    if (state === "") return [];
    return this.#misfits(this.#compiled.keys(), compiled => {
      const { request } = compiled;
      const { modulator, derived } = request;
      if (only !== 0 && only !== derived) return undefined;
      const read = modulator.objects.filter(one => one.object === object && (!one.lazy || only !== 0));
      if (read.length === 0) return undefined;
      const { shapeText } = compiled.data;
      const objects = modulator.objects.map(one => (read.includes(one) ? { ...one, version, state } : one));
      compiled.request = { ...request, modulator: { ...modulator, objects } };
      for (const { name } of read) compiled.data = compiled.data.with(name, state);
      const isAlike = compiled.data.shapeText === shapeText;
      for (const [token, program] of compiled.programs) {
        const isSame = program?.isChecked === false && isAlike;
        const verdict = isSame
          ? program
          : program && this.#verdictOn(compiled, this.#typeOf(compiled, token));
        if (verdict instanceof Refusal) return verdict;
        if (verdict !== undefined && verdict.state !== compiled.state)
          return new Refusal(`the shared object "${object}" makes a field of another kind`);
        if (verdict === undefined) continue;
        compiled.programs.set(token, verdict);
        if (verdict !== program || verdict.guards.some(isOfObjects))
          this.#enter(compiled, this.#typeOf(compiled, token), verdict);
      }
      return undefined;
    });
  }

  /** Modulators that cannot take this run. */
  misfitsOfRun(run: EventsFrame | LentRun): Misfit[] {
    const channel = this.#channels.get(run.channel);
    if (channel === undefined || channel.allows(run, this.#mostPerEvent, MOST_PER_RUN)) return [];
    return this.#misfits(channel.modulators, ({ programs }) => {
      const program = programs.get(run.token);
      if (program === undefined)
        return run.token === 0n && !programs.has(0n)
          ? new Refusal("events without a type are not compiled")
          : undefined;
      return this.#isTooDear(program.cost, run);
    });
  }

  /** Takes a modulator out. Nothing more of it comes from here. */
  leave(derived: number): LeavingModulator | undefined {
    const compiled = this.#compiled.get(derived);
    if (compiled === undefined) return undefined;
    const waits = this.waiting(derived) > 0;
    this.remove(derived);
    const { request, state, ready } = compiled;
    return { request, ready, loses: state !== "" || waits };
  }

  #misfits(modulators: Iterable<number>, refusalOf: (compiled: Compiled) => Refusal | undefined): Misfit[] {
    const misfits: Misfit[] = [];
    for (const derived of modulators) {
      const why = refusalOf(this.#compiled.get(derived) as Compiled);
      if (why !== undefined) misfits.push({ derived, why });
    }
    return misfits;
  }

  #isTooDear(cost: CostFormula, run: EventsFrame | LentRun): Refusal | undefined {
    const { count } = run;
    const whole = bytesOf(run);
    if (stepsFor(cost, count, whole) <= this.#mostPerEvent && overlong(cost, whole) === undefined)
      return undefined;
    const { bounds, first, end } = run.stretch();
    let all = 0;
    for (let i = first; i < end; i++) {
      const bytes = (bounds[2 * i + 1] as number) - (bounds[2 * i] as number);
      const steps = stepsFor(cost, 1, bytes);
      const vector = overlong(cost, bytes);
      if (vector !== undefined)
        return new Refusal(`an event's "${vector.name}" may be too long to be spread into arguments`);
      const refusal = this.#overBudget(cost, steps);
      if (refusal !== undefined) return refusal;
      all += steps;
    }
    if (all <= MOST_PER_RUN) return undefined;
    return new Refusal(
      `${count} events may take ${Math.ceil(all)} steps at once, and it may take ${MOST_PER_RUN}`,
    );
  }

  #overBudget(cost: CostFormula, steps: number): Refusal | undefined {
    if (steps <= this.#mostPerEvent) return undefined;
    const { line = 0, column = 0 } = cost.dearest ?? {};
    return new Refusal(
      `an event may take ${Math.ceil(steps)} steps (${costText(cost)}), and its producer allows ${this.#mostPerEvent}`,
      line,
      column,
    );
  }

  /** @returns why the modulator does not fit events of this type */
  #learn(compiled: Compiled, schema: Uint8Array): Refusal | undefined {
    const type = typeOf(schema);
    if (compiled.programs.has(type.token)) return undefined;
    const verdict = this.#verdictOn(compiled, type);
    if (verdict instanceof Refusal) return verdict;
    const { state = "" } = verdict ?? {};
    if (compiled.state !== "" && state !== "" && state !== compiled.state) return OTHER_FIELDS;
    compiled.programs.set(type.token, verdict);
    compiled.state ||= state;
    const text = readText(compiled.request.modulator.source);
    if (!(text instanceof Refusal) && text.input !== undefined) compiled.programs.set(0n, undefined);
    if (verdict !== undefined) this.#enter(compiled, type, verdict);
    return undefined;
  }

  /** The channel learns which events of this type concern the modulator, as its data are now, and what these cost. */
  #enter({ request, data }: Compiled, writer: Type, program: CompiledProgram): void {
    const { derived, channel, modulator } = request;
    const text = readText(modulator.source);
    const reader = (text instanceof Refusal ? undefined : text.input) ?? writer;
    const { guards } = program;
    const guarded = { derived, guards, reader, dataAt: (path: string) => data.at(path) };
    this.#channelOf(channel).set(writer, guarded, program);
  }

  #channelOf(number: number): GuardedChannel {
    let channel = this.#channels.get(number);
    if (channel === undefined) {
      channel = new GuardedChannel();
      this.#channels.set(number, channel);
    }
    return channel;
  }

  #membersOf(number: number): Iterable<number> {
    return this.#channels.get(number)?.modulators ?? [];
  }

  protected override forget(derived: number): void {
    super.forget(derived);
    this.#leave(derived);
  }

  #leave(derived: number): void {
    const { channel: number = 0 } = this.#compiled.get(derived)?.request ?? {};
    this.#compiled.delete(derived);
    const channel = this.#channels.get(number);
    channel?.delete(derived);
    if (channel?.size === 0) this.#channels.delete(number);
  }

  /** @returns undefined where the modulator cannot read events of this type at all: it is given none, as everywhere */
  #verdictOn({ request, data }: Pick<Compiled, "request" | "data">, writer: Type): TextVerdict | undefined {
    const { modulator, by = "" } = request;
    const pay = ({ length }: string): Refusal | undefined => this.#compiling.take(length, by);
    const text = readText(modulator.source, pay);
    if (text instanceof Refusal) return text;
    const took = (steps: number): Refusal | undefined => this.#compiling.takeSteps(steps, by);
    return canRead(text, writer) ? compileFor(modulator.source, writer, data, pay, took) : undefined;
  }

  /** The type with this token, which the modulator has a program for. */
  #typeOf({ request }: Compiled, token: bigint): Type {
    const { schema, further = [] } = request;
    const told = this.schemaOf(request.channel, token);
    return typeOf(
      (told ?? [schema, ...further].find(one => one && typeOf(one).token === token)) as Uint8Array,
    );
  }
}

function dataOf({ modulator: { parameters, objects } }: InstallRequest): GivenData | Refusal {
  try {
    return GivenData.read(parameters, objects);
  } catch {
    return new Refusal("its parameters, or a shared object's state, are not there as yet");
  }
}

/** Whether a guard compares with a value of a shared object. */
function isOfObjects(guard: Guard): boolean {
  const values = guard.is === "equal" ? guard.to : [guard.value];
  return values.some(value => value.from === "data" && value.path.startsWith("objects\n"));
}
