import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { summarise } from "./statistics.ts";

/** Cost of one of a beat's works, in microseconds. */
export interface Cost {
  /** CPU time of the thread that this runs in: the work, and all that comes to this thread of it before the next beat. */
  readonly thread: number;
  /** The same of the whole process, with what other threads do for the work. */
  readonly process: number;
  /** By the clock, from the work's beginning to its return. */
  readonly call: number;
}

export interface BeatOptions {
  /** Time from one beat to the next: long enough for all that a beat's works set going. */
  readonly beatMs: number;
  /** How often each work is done in its beat. */
  readonly times: number;
  /** About how long all of it takes. */
  readonly ms: number;
}

/**
 * Costs of several works under the same conditions: each has a beat in turn, in which it is done a number of times, as a
 * simulation does after each step. Between beats this thread sleeps. CPU time is without that of a beat with nothing in it;
 * of all beats of a kind the middle one counts.
 */
export async function costsOf<K extends string>(
  works: Readonly<Record<K, () => void>>,
  { beatMs, times, ms }: BeatOptions,
): Promise<Record<K, Cost>> {
  const entries = Object.entries(works) as [K, () => void][];
  const nothing: Cost[] = [];
  const beats = entries.map((): Cost[] => []);
  const beat = await beating(beatMs, times);
  const end = performance.now() + ms;
  do {
    nothing.push(await beat());
    for (const [i, [, work]] of entries.entries()) beats[i]?.push(await beat(work));
  } while (performance.now() < end);
  const costs = entries.map(([name], i): [K, Cost] => {
    const middle = (of: keyof Cost, costs: readonly Cost[]): number =>
      summarise(costs.map(cost => cost[of])).median;
    const each = (of: keyof Cost): number => (middle(of, beats[i] as Cost[]) - middle(of, nothing)) / times;
    return [name, { thread: each("thread"), process: each("process"), call: each("call") }];
  });
  return Object.fromEntries(costs) as Record<K, Cost>;
}

/** Makes a function that does one beat, and tells what it cost. */
async function beating(beatMs: number, times: number): Promise<(work?: () => void) => Promise<Cost>> {
  // The system's count for a thread is exact when that has just slept.
  await delay(beatMs);
  let [thread, whole] = [threadCpuUs(), processCpuUs()];
  return async work => {
    const start = performance.now();
    if (work !== undefined) for (let i = 0; i < times; i++) work();
    const call = 1000 * (performance.now() - start);
    await delay(beatMs);
    const [threadNow, wholeNow] = [threadCpuUs(), processCpuUs()];
    const cost = { thread: threadNow - thread, process: wholeNow - whole, call };
    [thread, whole] = [threadNow, wholeNow];
    return cost;
  };
}

/**
 * CPU time in microseconds of a process' main thread, which this is to run in. Where the system does not tell threads
 * apart it is that of the whole process, which is more.
 */
export function threadCpuUs(): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(nanoseconds) / 1000;
  } catch {
    return processCpuUs();
  }
}

/** CPU time in microseconds of all threads of this process. */
export function processCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
