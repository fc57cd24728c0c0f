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
const BYTES_A_ROUND = 60 << 20;
const MOST_EVENTS = 300_000;

/**
 * Part of `moe`: the share of events that a filter must reject to pay for itself, in the CPU time of all processes:
 * producer, host, gateway and consumers. Between rejecting nothing and all the cost falls in proportion.
 */
export async function moeBreakEven({ report, quick }: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  const [source, sink] = [new Worker("moe-source"), new Worker("moe-sink")];
  const processes = [source, gateway, sink];
  const rounds = quick ? 1 : 3;
  const cpuMs = (): number => processes.reduce((sum, process) => sum + process.treeCpuMs(), 0);
  try {
    const { port } = gateway;
    await Promise.all([source, sink].map(worker => worker.call("keep", port)));
    for (const tier of TIERS) {
      const curves: { name: string; points: [number, number[]][] }[] = [];
      for (const consumers of [1, 10]) {
        const points: [number, number[]][] = [];
        for (const [size, eventBytes] of Object.entries(SIZES) as [Size, number][]) {
          const costs = new Map<Scenario, number[]>(SCENARIOS.map(scenario => [scenario, []]));
          const events = Math.min(MOST_EVENTS, Math.floor(BYTES_A_ROUND / eventBytes)) / (quick ? 10 : 3);
          for (const scenario of SCENARIOS) {
            const channel = `moe/${tier}/${size}/${consumers}/${scenario}`;
            const stream: Stream = { channel, tier, eventBytes, events: Math.floor(events) };
            await source.call("open", { port, ...stream });
            await sink.call("open", { port, channel, consumers, scenario });
            for (let round = -1; round < rounds; round++) {
              const before = cpuMs();
              await source.call("stream", stream);
              if (round >= 0) costs.get(scenario)?.push((1000 * (cpuMs() - before)) / stream.events);
            }
            await sink.call("close");
            await source.call("close");
          }
          const of = (scenario: Scenario): number => summarise(costs.get(scenario) ?? []).median;
          const [plain, none, all] = SCENARIOS.map(of) as [number, number, number];
          for (const scenario of SCENARIOS)
            report.metric(
              `moe.${tier}_${size}_${consumers}_${scenario}`,
              costs.get(scenario) ?? [],
              "us/event",
            );
          const metric = `moe.breakeven_${tier}`;
          const isHeadline = size === "100b" && consumers === 1;
          const goal = tier === "local" && isHeadline ? atMost(0.033) : undefined;
          const name = isHeadline ? metric : `${metric}_${size}_${consumers}`;
          if (all >= plain) {
            report.note(
              `${name}: there is none, even rejecting all costs more (${all} of ${plain} us/event)`,
            );
            if (goal !== undefined) report.missing(name, goal, "rejecting all costs more");
            continue;
          }
          const share = Math.max(0, (none - plain) / (none - all));
          report.metric(name, share, "fraction", goal);
          points.push([eventBytes, [share]]);
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
