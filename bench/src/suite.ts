import type { Report } from "./report.ts";

/** What every suite is given. */
export interface Context {
  readonly report: Report;
  /** A short run: fewer rounds, shorter ones. */
  readonly quick: boolean;
}

export interface Suite {
  readonly name: string;
  /** One line for whoever asks what there is. */
  readonly about: string;
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
