import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { summarise } from "../statistics.ts";
import type { Context } from "../suite.ts";
import type { Stream } from "../workers/moe-source.ts";

const TIERS = ["local", "hosted"] as const;
const SIZES = { "100b": 100, "1kb": 1000, "37kb": 37 * 253 * 4 } as const;
type Size = keyof typeof SIZES;
/** Nobody's filter, one that rejects nothing, one that rejects all. */
const SCENARIOS = ["plain", "none", "all"] as const;
type Scenario = (typeof SCENARIOS)[number];
/** The orders in which they take their turns: what one leaves behind, each of the others finds as often. */
const ORDERS: readonly (readonly Scenario[])[] = [
  ["plain", "none", "all"],
  ["all", "none", "plain"],
  ["none", "all", "plain"],
  ["plain", "all", "none"],
  ["all", "plain", "none"],
  ["none", "plain", "all"],
];
/** Bytes of events for a share: so many that what else a process does meanwhile is lost in them. */
const BYTES_A_POOL = 50 << 20;
const MOST_EVENTS = 100_000;
/** The turns that it is cut into, for the scenarios to take theirs under the same conditions. */
const TURNS = 3;
const POOLS = 5;
/**
 * And how often as many turns, where the goal is: plain and filtered events cost nearly the same there, and one collection of
 * a process' garbage, of which there is one in some ten turns, costs half as much as a turn. With a third of this the shares of the pools lay
 * 0.3 apart. Each of some sets of processes has its pools, for how engines compile a loop is partly chance, and lasts as long as its process.
 */
const HEADLINE = { turns: 18, runs: 3 } as const;

/**
 * Part of `moe`: the share of events that a filter must reject to pay for itself, in the CPU time of all threads of all processes:
 * producer, host, gateway and consumers. Between rejecting nothing and all the cost falls in proportion. The three scenarios are open
 * at once and take turns; those of a pool are added up and give a share: the spread of the pools says how much it can be trusted.
 */
export function moeBreakEven(context: Context): Promise<void> {
  return withProcesses(processes => curvesOf(processes, context));
}

/** The same for anybody's filter of small events, which is compiled. */
export async function compiledBreakEven({ report, quick }: Context): Promise<void> {
  const filtered: Filtered = { tier: "compiled", eventBytes: SIZES["100b"], consumers: 1 };
  const costs = quick
    ? await withProcesses(processes => costsOf(processes, filtered, 1, true))
    : await headlineCosts(filtered);
  for (const scenario of SCENARIOS) report.metric(`compiled.100b_1_${scenario}`, costs[scenario], "us/event");
  report.metric("compiled.breakeven", sharesOf(costs), "fraction", atMost(0.033));
}

async function curvesOf(processes: Processes, { report, quick }: Context): Promise<void> {
  for (const tier of TIERS) {
    const curves: { name: string; points: [number, number[]][] }[] = [];
    for (const consumers of [1, 10]) {
      const points: [number, number[]][] = [];
      for (const [size, eventBytes] of Object.entries(SIZES) as [Size, number][]) {
        const stream = { tier, eventBytes, consumers };
        const hasGoal = isHeadline(stream);
        const costs =
          hasGoal && !quick ? await headlineCosts(stream) : await costsOf(processes, stream, 1, quick);
        for (const scenario of SCENARIOS)
          report.metric(`moe.${tier}_${size}_${consumers}_${scenario}`, costs[scenario], "us/event");
        const isFirst = size === "100b" && consumers === 1;
        const name = `moe.breakeven_${tier}${isFirst ? "" : `_${size}_${consumers}`}`;
        const shares = sharesOf(costs);
        if (summarise(costs.all).median >= summarise(costs.plain).median)
          report.note(`${name}: there is none, even rejecting all costs more than having no filter`);
        report.metric(name, shares, "fraction", hasGoal ? atMost(0.033) : undefined);
        points.push([eventBytes, shares]);
      }
      curves.push({ name: `${consumers} consumer${consumers === 1 ? "" : "s"}`, points });
    }
    report.plot({
      name: `moe-break-even-${tier}`,
      title: `Share of events that a filter must reject to pay for itself, ${tier}`,
      x: { label: "bytes per event" },
      y: { label: "share", unit: "fraction" },
      series: curves,
    });
  }
}

/** Filtered events, and for how many consumers. */
interface Filtered {
  readonly tier: Stream["tier"];
  readonly eventBytes: number;
  readonly consumers: number;
}

/** Microseconds for each event, by pool. */
type Costs = Record<Scenario, number[]>;

/** A gateway, a producer and its consumers. */
class Processes {
  readonly port: number;
  readonly source: Worker;
  readonly sink: Worker;
  readonly #all: readonly Process[];

  private constructor(gateway: GatewayProcess, source: Worker, sink: Worker) {
    this.port = gateway.port;
    this.source = source;
    this.sink = sink;
    this.#all = [source, gateway, sink];
  }

  static async start(): Promise<Processes> {
    const gateway = await GatewayProcess.start();
    return new Processes(gateway, new Worker("moe-source"), new Worker("moe-sink"));
  }

  async keep(): Promise<void> {
    await Promise.all([this.source, this.sink].map(worker => worker.call("keep", this.port)));
  }

  /** CPU time of all of their threads. */
  get cpuMs(): number {
    return this.#all.reduce((sum, process) => sum + process.threadsCpuMs(), 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(process => process.stop()));
  }
}

async function withProcesses<T>(act: (processes: Processes) => Promise<T>): Promise<T> {
  const processes = await Processes.start();
  try {
    await processes.keep();
    return await act(processes);
  } finally {
    await processes.stop();
  }
}

async function headlineCosts(filtered: Filtered): Promise<Costs> {
  const costs: Costs = { plain: [], none: [], all: [] };
  for (let run = 0; run < HEADLINE.runs; run++) {
    const measured = await withProcesses(processes => costsOf(processes, filtered, HEADLINE.turns, false));
    for (const scenario of SCENARIOS) costs[scenario].push(...measured[scenario]);
  }
  return costs;
}

/** @param more so many times the usual turns */
async function costsOf(
  processes: Processes,
  { tier, eventBytes, consumers }: Filtered,
  more: number,
  quick: boolean,
): Promise<Costs> {
  const { port, source, sink } = processes;
  const costs: Costs = { plain: [], none: [], all: [] };
  const channelOf = (scenario: Scenario): string => `moe/${tier}/${eventBytes}/${consumers}/${scenario}`;
  const turns = more * TURNS;
  const events = Math.floor(Math.min(MOST_EVENTS, BYTES_A_POOL / eventBytes) / TURNS / (quick ? 5 : 1));
  await source.call("open", { port, tier, channels: SCENARIOS.map(channelOf) });
  for (const scenario of SCENARIOS)
    await sink.call("open", { port, channel: channelOf(scenario), consumers, scenario });
  let round = 0;
  for (let pool = -1; pool < (quick ? 3 : POOLS); pool++) {
    const spent: Record<Scenario, number> = { plain: 0, none: 0, all: 0 };
    for (let turn = 0; turn < turns; turn++) {
      for (const scenario of ORDERS[round++ % ORDERS.length] as readonly Scenario[]) {
        const stream: Stream = { channel: channelOf(scenario), tier, eventBytes, events };
        const before = processes.cpuMs;
        await source.call("stream", stream);
        spent[scenario] += processes.cpuMs - before;
      }
    }
    // The first one warms up.
    if (pool < 0) continue;
    for (const scenario of SCENARIOS) costs[scenario].push((1000 * spent[scenario]) / (turns * events));
  }
  await sink.call("close");
  await source.call("close");
  return costs;
}

function isHeadline({ tier, eventBytes, consumers }: Filtered): boolean {
  return tier === "local" && eventBytes === SIZES["100b"] && consumers === 1;
}

/** Share for each pool, from 0 to 1; 1, too, where a filter does not pay for itself even if it rejects all. */
function sharesOf({ plain, none, all }: Record<Scenario, number[]>): number[] {
  return plain.map((cost, pool) => {
    const [passing, rejecting] = [none[pool] as number, all[pool] as number];
    if (passing <= cost) return 0;
    return rejecting >= cost ? 1 : (passing - cost) / (passing - rejecting);
  });
}
