import { type Type, typeFromSchema } from "@jecho/shared";
import { type EventsFrame, tokenOf } from "@jecho/shared/internal";
import type { Declared, Limits } from "../../sandbox/sandbox.ts";
import { LentRun } from "../lent-run.ts";
import { LocalTier } from "../local/local-tier.ts";
import type { HostClock } from "../periods.ts";
import type { InstallRequest, StateUpdate, TierEvents } from "../tier.ts";
import { compiledEngine } from "./compiled-sandbox.ts";
import { canRead, compileText, readText, type TextVerdict } from "./compiler.ts";
import { type CostFormula, costText, overlong, stepsFor } from "./cost.ts";
import { shapeOf } from "./data-shape.ts";
import { Refusal } from "./refusal.ts";

/** Steps that a modulator may take for one event, by default: a tenth of a millisecond at most. */
const MOST_PER_EVENT = 100_000;
/** Steps for one run of events: the producer's own thread is held for so many nanoseconds. */
const MOST_PER_RUN = 4_000_000;

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
  /** The cost of the program by the type of its events; undefined for types that it cannot read, and is given none of. */
  readonly costs: Map<bigint, CostFormula | undefined>;
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
  readonly #compiled = new Map<number, Compiled>();

  constructor(
    options: {
      limits?: Partial<Limits> | undefined;
      clock?: HostClock | undefined;
      mostPerEvent?: number | undefined;
    },
    events: TierEvents,
  ) {
    super(compiledEngine(), options, events);
    this.#mostPerEvent = options.mostPerEvent ?? MOST_PER_EVENT;
  }

  /** The reason why a modulator cannot run here; undefined where it can. */
  refusalOf(request: InstallRequest): Refusal | undefined {
    if (this.#mostPerEvent === 0) return new Refusal("the producer has no modulator compiled");
    const { schema, further = [] } = request;
    if (schema === undefined) return new Refusal("events without a type are not compiled");
    for (const one of [schema, ...further]) {
      const verdict = this.#verdictOn(request, one);
      if (verdict instanceof Refusal) return verdict;
      const refusal = verdict && this.#overBudget(verdict.cost, verdict.cost.steps);
      if (refusal !== undefined) return refusal;
    }
    // Constructing it makes an instance for the first type.
    return this.#verdictOn(request, schema) === undefined
      ? new Refusal("it cannot read the channel's events")
      : undefined;
  }

  override async install(
    request: InstallRequest,
    onInstalled?: (declared: Declared) => void,
  ): Promise<Declared> {
    const { derived, schema, further = [] } = request;
    const compiled: Compiled = { request, costs: new Map(), state: "", ready: true };
    for (const one of schema === undefined ? [] : [schema, ...further]) this.#learn(compiled, one);
    this.#compiled.set(derived, compiled);
    try {
      return await super.install(request, onInstalled);
    } catch (error) {
      this.#compiled.delete(derived);
      throw error;
    }
  }

  override remove(derived: number): void {
    this.#compiled.delete(derived);
    super.remove(derived);
  }

  override flow(derived: number, ready: boolean): void {
    const compiled = this.#compiled.get(derived);
    if (compiled !== undefined) compiled.ready = ready;
    super.flow(derived, ready);
  }

  /** Modulators that cannot take events of this type. */
  misfitsOfType(channel: number, schema: Uint8Array): Misfit[] {
    return this.#misfits(compiled => {
      if (compiled.request.channel !== channel) return undefined;
      return this.#learn(compiled, schema);
    });
  }

  /** Modulators that cannot go on with this state; the others' is that from here on. */
  misfitsOfState({ object, version, state, derived: only = 0 }: StateUpdate): Misfit[] {
    if (state === "") return [];
    return this.#misfits(compiled => {
      const { request } = compiled;
      const { modulator, derived } = request;
      if (only !== 0 && only !== derived) return undefined;
      const read = modulator.objects.filter(one => one.object === object && (!one.lazy || only !== 0));
      if (read.length === 0) return undefined;
      const objects = modulator.objects.map(one => (read.includes(one) ? { ...one, version, state } : one));
      compiled.request = { ...request, modulator: { ...modulator, objects } };
      for (const [token, cost] of compiled.costs) {
        const schema = cost && this.#schemaOf(compiled, token);
        const verdict = schema && this.#verdictOn(compiled.request, schema);
        if (verdict instanceof Refusal) return verdict;
        if (verdict !== undefined && verdict.state !== compiled.state)
          return new Refusal(`the shared object "${object}" makes a field of another kind`);
      }
      return undefined;
    });
  }

  /** Modulators that cannot take this run. */
  misfitsOfRun(run: EventsFrame | LentRun): Misfit[] {
    if (this.#compiled.size === 0) return [];
    return this.#misfits(({ request, costs }) => {
      if (request.channel !== run.channel) return undefined;
      const cost = costs.get(run.token);
      // Events without a type are given to no modulator that was written for one.
      if (cost === undefined)
        return run.token === 0n && !costs.has(0n)
          ? new Refusal("events without a type are not compiled")
          : undefined;
      return this.#isTooDear(cost, run);
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

  #misfits(refusalOf: (compiled: Compiled) => Refusal | undefined): Misfit[] {
    const misfits: Misfit[] = [];
    for (const [derived, compiled] of this.#compiled) {
      const why = refusalOf(compiled);
      if (why !== undefined) misfits.push({ derived, why });
    }
    return misfits;
  }

  #isTooDear(cost: CostFormula, run: EventsFrame | LentRun): Refusal | undefined {
    const { count } = run;
    const whole = run instanceof LentRun ? bytesOf(run) : run.end - run.start;
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
    return new Refusal(`${count} events may take ${all} steps at once, and it may take ${MOST_PER_RUN}`);
  }

  #overBudget(cost: CostFormula, steps: number): Refusal | undefined {
    if (steps <= this.#mostPerEvent) return undefined;
    const { line = 0, column = 0 } = cost.dearest ?? {};
    return new Refusal(
      `an event may take ${steps} steps (${costText(cost)}), and its producer allows ${this.#mostPerEvent}`,
      line,
      column,
    );
  }

  /** @returns why the modulator does not fit events of this type */
  #learn(compiled: Compiled, schema: Uint8Array): Refusal | undefined {
    const token = tokenOf(schema);
    if (compiled.costs.has(token)) return undefined;
    const verdict = this.#verdictOn(compiled.request, schema);
    if (verdict instanceof Refusal) return verdict;
    compiled.costs.set(token, verdict?.cost);
    compiled.state ||= verdict?.state ?? "";
    const text = readText(compiled.request.modulator.source);
    if (!(text instanceof Refusal) && text.input !== undefined) compiled.costs.set(0n, undefined);
    return undefined;
  }

  /** @returns undefined where the modulator cannot read events of this type at all: it is given none, as everywhere */
  #verdictOn({ modulator }: InstallRequest, schema: Uint8Array): TextVerdict | undefined {
    const text = readText(modulator.source);
    if (text instanceof Refusal) return text;
    const writer = typeOf(schema);
    if (!canRead(text, writer)) return undefined;
    try {
      const objects = Object.fromEntries(
        modulator.objects.map(({ name, state }) => [name, JSON.parse(state)]),
      );
      const parameters = shapeOf(JSON.parse(modulator.parameters === "" ? "null" : modulator.parameters));
      return compileText(modulator.source, { writer, parameters, objects: shapeOf(objects) });
    } catch {
      return new Refusal("its parameters, or a shared object's state, are not there as yet");
    }
  }

  #schemaOf({ request }: Compiled, token: bigint): Uint8Array | undefined {
    const { schema, further = [] } = request;
    return (
      this.schemaOf(request.channel, token) ?? [schema, ...further].find(one => one && tokenOf(one) === token)
    );
  }
}

const types = new Map<bigint, Type>();
const MOST_TYPES = 256;

/** Types are read once: that takes longer than a verdict that is known. */
function typeOf(schema: Uint8Array): Type {
  const token = tokenOf(schema);
  let type = types.get(token);
  if (type === undefined) {
    type = typeFromSchema(schema);
    if (types.size === MOST_TYPES) types.clear();
    types.set(token, type);
  }
  return type;
}

function bytesOf(run: LentRun): number {
  const { bounds, first, end } = run.stretch();
  return (bounds[2 * end - 1] as number) - (bounds[2 * first] as number);
}
