import { keepNewest } from "../../running/newest-entries.ts";
import type { HostClock } from "../periods.ts";
import { Refusal } from "./refusal.ts";

/**
 * Characters of texts that a subject may have read or compiled in a burst, and each second on average. Each takes a thread of the producer's about half a
 * microsecond: a second in a burst, 2 % of it on average.
 */
const MOST_CHARACTERS = 2 << 20;
const CHARACTERS_PER_SECOND = 32 << 10;
/** Least that a text counts as, for what compiling costs besides: a module of WebAssembly, a verdict that is kept. */
const LEAST_CHARACTERS = 256;
/** Steps of a static check that take as long as a character. */
const STEPS_PER_CHARACTER = 8;
/** Most subjects that are remembered, the newest ones. */
const MOST_SUBJECTS = 1024;

interface Allowance {
  characters: number;
  at: number;
}

/** Bounds the producer's processor time that each subject's texts take to compile, and to check what they are given. What is beyond it is hosted. */
export class CompileBudget {
  readonly #clock: HostClock;
  readonly #allowances = new Map<string, Allowance>();

  constructor(clock: HostClock) {
    this.#clock = clock;
  }

  /** Takes what one text costs. @param by its subject; "" where that has no name @returns why it is not compiled now */
  take(length: number, by: string): Refusal | undefined {
    return this.#take(Math.max(length, LEAST_CHARACTERS), by);
  }

  /** Takes what the steps of a static check cost; otherwise as `take`. */
  takeSteps(steps: number, by: string): Refusal | undefined {
    return this.#take(steps / STEPS_PER_CHARACTER, by);
  }

  #take(taken: number, by: string): Refusal | undefined {
    const now = this.#clock.now();
    const { characters, at } = this.#allowances.get(by) ?? { characters: MOST_CHARACTERS, at: now };
    const gained = ((now - at) / 1000) * CHARACTERS_PER_SECOND;
    const left = Math.min(MOST_CHARACTERS, characters + gained) - taken;
    if (left < 0) return new Refusal("its subject has had many texts compiled or checked in a short time");
    keepNewest(this.#allowances, by, { characters: left, at: now }, MOST_SUBJECTS);
    return undefined;
  }
}
