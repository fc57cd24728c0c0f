/** The middle of some measurements and how far they lie apart. */
export interface Summary {
  readonly median: number;
  /** Half of the measurements lie in this range: first and third quartile. */
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/** @throws RangeError where there is nothing to summarise */
export function summarise(values: readonly number[]): Summary {
  if (values.length === 0) throw new RangeError("no measurements");
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    rounds: values.length,
  };
}

/** Round by round, so that what disturbs the machine for a while disturbs both sides of a ratio. */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  if (above.length !== below.length) throw new RangeError("a ratio needs as many rounds on both sides");
  return above.map((value, round) => value / (below[round] as number));
}

/** The values of all rounds, by their names. */
export function columnsOf<Name extends string>(
  rounds: readonly Readonly<Record<Name, number>>[],
): Record<Name, number[]> {
  const names = Object.keys(rounds[0] ?? {}) as Name[];
  const columns = names.map(name => [name, rounds.map(round => round[name])]);
  return Object.fromEntries(columns) as Record<Name, number[]>;
}

function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}
