/** Runs `work` again and again for about so many milliseconds; returns microseconds for each time. */
export function timeOf(work: () => unknown, ms: number): number {
  let times = 0;
  let block = 1;
  const start = performance.now();
  let now = start;
  do {
    for (let i = 0; i < block; i++) kept.result = work();
    times += block;
    now = performance.now();
    // The clock is asked about a hundred times, not each time.
    if (now - start < ms / 100) block *= 2;
  } while (now - start < ms);
  return (1000 * (now - start)) / times;
}

/** Result of the last work: something that is kept cannot be optimised away. */
const kept: { result: unknown } = { result: undefined };

/**
 * Several works in turn, round after round; one more round comes first, for warming up. Each has a slot to itself before the
 * one that counts: what the work before it left behind (serialised buffers set the collector to work for long after) is not
 * charged to it.
 */
export function interleave(
  works: Readonly<Record<string, () => unknown>>,
  { rounds, ms }: { rounds: number; ms: number },
): Record<string, number[]> {
  const times: Record<string, number[]> = {};
  for (const [name, work] of Object.entries(works)) {
    timeOf(work, ms);
    times[name] = [];
  }
  for (let round = 0; round < rounds; round++)
    for (const [name, work] of Object.entries(works)) {
      timeOf(work, ms);
      times[name]?.push(timeOf(work, ms));
    }
  return times;
}
