import type { Report } from "./report.ts";

/** Context that every suite is given. */
export interface Context {
  readonly report: Report;
  /** A short run: fewer rounds, shorter ones. */
  readonly quick: boolean;
  readonly chaos: ChaosWish;
}

/** For `chaos`: what is to be done, where that is not left to chance and the suite. */
export interface ChaosWish {
  readonly seed: number | undefined;
  readonly faults: number | undefined;
  readonly kinds: readonly string[] | undefined;
  readonly atOnce: number | undefined;
}

export interface Suite {
  readonly name: string;
  /** One line for whoever asks what there is. */
  readonly about: string;
  /** How long a full run of it may take, where that is longer than others may. */
  readonly limitMs?: number;
  run(context: Context): Promise<void>;
}

/** One more round comes first, for warming up. */
export async function repeat<T>(rounds: number, measure: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = -1; round < rounds; round++) {
    const result = await measure();
    if (round >= 0) results.push(result);
  }
  return results;
}
