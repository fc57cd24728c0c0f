import type { Type } from "@jecho/shared";
import type { EventsFrame, Stretch } from "@jecho/shared/internal";
import { LentRun } from "../lent-run.ts";
import type { ConcernedModulator } from "../local/local-tier.ts";
import { type CostFormula, MOST_PER_RUN } from "./cost.ts";
import { CostBound } from "./cost-bound.ts";
import { type GuardedProgram, GuardIndex } from "./guard-index.ts";

/** A channel's programs for events of one type, and what is known of them. */
interface TypePrograms {
  readonly index: GuardIndex;
  readonly bound: CostBound;
  /** Whether one of them counts steps as it runs, which no bound knows. */
  isCounted: boolean;
}

/** A program alone that takes so few steps is called with all of so many events: to look up which of them concern it would take longer. */
const FEW_STEPS = 128;
const MANY_EVENTS = 64;

/** The compiled modulators of one channel, so that a run meets only those that it may concern. */
export class GuardedChannel {
  readonly #modulators = new Set<number>();
  readonly #types = new Map<bigint, TypePrograms>();

  get modulators(): Iterable<number> {
    return this.#modulators;
  }

  get size(): number {
    return this.#modulators.size;
  }

  /** Enters a modulator, which is called with every event of each type until its program for that is known. */
  add(derived: number): void {
    this.#modulators.add(derived);
    for (const { index } of this.#types.values()) index.always(derived);
  }

  /** The modulator has this program for events of a type. */
  set(
    writer: Type,
    program: GuardedProgram,
    { cost, isCounted }: { readonly cost: CostFormula; readonly isCounted: boolean },
  ): void {
    const programs = this.#programsOf(writer);
    programs.index.set(program);
    programs.bound.add(cost);
    programs.isCounted ||= isCounted;
  }

  delete(derived: number): void {
    this.#modulators.delete(derived);
    for (const { index } of this.#types.values()) index.delete(derived);
  }

  /** The modulators that a run concerns; undefined for all. */
  concerned(run: EventsFrame | LentRun, events: Stretch): readonly ConcernedModulator[] | undefined {
    const { token, count } = run;
    const { index, bound } = this.#types.get(token) ?? {};
    const isAlone = this.#modulators.size === 1 && count >= MANY_EVENTS;
    if (isAlone && bound !== undefined && bound.stepsFor(count, bytesOf(run)) <= FEW_STEPS * count)
      return undefined;
    return index?.concerned(events);
  }

  /** Most steps that one modulator may take for a run. */
  mostFor(run: EventsFrame | LentRun): number {
    const { bound, isCounted = false } = this.#types.get(run.token) ?? {};
    return (isCounted ? MOST_PER_RUN : 0) + (bound?.stepsFor(run.count, bytesOf(run)) ?? 0);
  }

  /** Whether each modulator may be given a run, whatever it costs there: no more than so many steps for an event, and for all. */
  allows(run: EventsFrame | LentRun, mostPerEvent: number, mostPerRun: number): boolean {
    // Events without a type are given to no modulator that was written for one.
    if (run.token === 0n) return false;
    const bound = this.#types.get(run.token)?.bound;
    if (bound === undefined) return true;
    const { count } = run;
    const steps = bound.stepsFor(count, bytesOf(run));
    if (steps <= mostPerEvent) return true;
    return steps <= mostPerRun && bound.stepsFor(1, largestOf(run.stretch())) <= mostPerEvent;
  }

  #programsOf(writer: Type): TypePrograms {
    let programs = this.#types.get(writer.token);
    if (programs === undefined) {
      programs = { index: new GuardIndex(writer), bound: new CostBound(), isCounted: false };
      for (const derived of this.#modulators) programs.index.always(derived);
      this.#types.set(writer.token, programs);
    }
    return programs;
  }
}

/** Bytes of the events of a run, with the head of a frame. */
export function bytesOf(run: EventsFrame | LentRun): number {
  if (!(run instanceof LentRun)) return run.end - run.start;
  const { bounds, first, end } = run.stretch();
  return (bounds[2 * end - 1] as number) - (bounds[2 * first] as number);
}

function largestOf({ bounds, first, end }: Stretch): number {
  let largest = 0;
  for (let i = first; i < end; i++)
    largest = Math.max(largest, (bounds[2 * i + 1] as number) - (bounds[2 * i] as number));
  return largest;
}
