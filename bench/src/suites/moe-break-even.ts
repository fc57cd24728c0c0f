import { GatewayProcess, Worker } from "../processes.ts";
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
/** What a share is taken of: so much that what else a process does meanwhile is lost in it. */
const BYTES_A_POOL = 50 << 20;
const MOST_EVENTS = 100_000;
/** The turns that it is cut into, for the scenarios to take theirs under the same conditions. */
const TURNS = 3;
/**
 * And how often as many of them, where the goals are: plain and filtered events cost nearly the same there, and one collection of
 * a process' garbage, of which there is one in some ten turns, costs half as much as a turn. With a third of this the shares of the pools lay
 * 0.3 apart.
 */
const HEADLINE = 18;

/**
 * Part of `moe`: the share of events that a filter must reject to pay for itself, in the CPU time of all threads of all processes:
 * producer, host, gateway and consumers. Between rejecting nothing and all the cost falls in proportion. The three scenarios are open
 * at once and take turns; those of a pool are added up and give a share: the spread of the pools says how much it can be trusted.
 */
export async function moeBreakEven({ report, quick }: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  const [source, sink] = [new Worker("moe-source"), new Worker("moe-sink")];
  const processes = [source, gateway, sink];
  const pools = quick ? 3 : 5;
  const cpuMs = (): number => processes.reduce((sum, process) => sum + process.threadsCpuMs(), 0);
  const { port } = gateway;

  /** Microseconds for each event, by pool. */
  async function costsOf(
    tier: Stream["tier"],
    eventBytes: number,
    consumers: number,
  ): Promise<Record<Scenario, number[]>> {
    const costs: Record<Scenario, number[]> = { plain: [], none: [], all: [] };
    const channelOf = (scenario: Scenario): string => `moe/${tier}/${eventBytes}/${consumers}/${scenario}`;
    const turns = isHeadline(eventBytes, consumers) && !quick ? HEADLINE * TURNS : TURNS;
    const events = Math.floor(Math.min(MOST_EVENTS, BYTES_A_POOL / eventBytes) / TURNS / (quick ? 5 : 1));
    await source.call("open", { port, tier, channels: SCENARIOS.map(channelOf) });
    for (const scenario of SCENARIOS)
      await sink.call("open", { port, channel: channelOf(scenario), consumers, scenario });
    let round = 0;
    for (let pool = -1; pool < pools; pool++) {
      const spent: Record<Scenario, number> = { plain: 0, none: 0, all: 0 };
      for (let turn = 0; turn < turns; turn++) {
        for (const scenario of ORDERS[round++ % ORDERS.length] as readonly Scenario[]) {
          const stream: Stream = { channel: channelOf(scenario), tier, eventBytes, events };
          const before = cpuMs();
          await source.call("stream", stream);
          spent[scenario] += cpuMs() - before;
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

  try {
    await Promise.all([source, sink].map(worker => worker.call("keep", port)));
    for (const tier of TIERS) {
      const curves: { name: string; points: [number, number[]][] }[] = [];
      for (const consumers of [1, 10]) {
        const points: [number, number[]][] = [];
        for (const [size, eventBytes] of Object.entries(SIZES) as [Size, number][]) {
          const costs = await costsOf(tier, eventBytes, consumers);
          for (const scenario of SCENARIOS)
            report.metric(`moe.${tier}_${size}_${consumers}_${scenario}`, costs[scenario], "us/event");
          const hasGoal = isHeadline(eventBytes, consumers);
          const goal = tier === "local" && hasGoal ? atMost(0.033) : undefined;
          const name = `moe.breakeven_${tier}${hasGoal ? "" : `_${size}_${consumers}`}`;
          const shares = sharesOf(costs);
          if (summarise(costs.all).median >= summarise(costs.plain).median)
            report.note(`${name}: there is none, even rejecting all costs more than having no filter`);
          report.metric(name, shares, "fraction", goal);
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
  } finally {
    await Promise.all(processes.map(process => process.stop()));
  }
}

function isHeadline(eventBytes: number, consumers: number): boolean {
  return eventBytes === SIZES["100b"] && consumers === 1;
}

/** Of each pool, from 0 to 1; 1, too, where a filter does not pay for itself even if it rejects all. */
function sharesOf({ plain, none, all }: Record<Scenario, number[]>): number[] {
  return plain.map((cost, pool) => {
    const [passing, rejecting] = [none[pool] as number, all[pool] as number];
    if (passing <= cost) return 0;
    return rejecting >= cost ? 1 : (passing - cost) / (passing - rejecting);
  });
}
