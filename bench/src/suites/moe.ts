import { GatewayProcess, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Cost, CostOf, Crossing } from "../workers/moe-cost.ts";
import type { Measurement, Side } from "../workers/moe-latency.ts";
import { moeBreakEven } from "./moe-break-even.ts";
import { moeConformance } from "./moe-conformance.ts";

/** The environment that modulators run in: is it sound, and what does it cost in each place? */
export const moe: Suite = {
  name: "moe",
  about: "modulators in the local tier and on both engines: conformance, cost of a call, when a filter pays",
  async run(context) {
    await costs(context);
    await latencies(context);
    await moeBreakEven(context);
    await moeConformance(context);
  },
};

const PLACES = ["local", "isolated-vm", "quickjs"] as const;

/** Events by size: enough for each measurement to take a few tenths of a second. */
const CROSSINGS = { "100b": 200_000, "1kb": 50_000, "37kb": 2000 } as const;

/** What an event costs a filter, and where that goes. */
async function costs({ report, quick }: Context): Promise<void> {
  const rounds = quick ? 3 : 7;
  const worker = new Worker("moe-cost");
  const cost = (of: CostOf): Promise<Cost> => worker.call<Cost>("cost", of);
  try {
    for (const place of PLACES) {
      const name = place.replace("-", "_");
      // A thread's processor time moves in steps of some milliseconds: what is measured has to last.
      const isSlow = place === "quickjs";
      const rounds1 = await repeat(rounds, () =>
        cost({ place, filter: "range", events: isSlow ? 20_000 : 200_000 }),
      );
      const inside = rounds1.map(({ sandboxNs }) => sandboxNs);
      report.metric(
        place === "isolated-vm" ? "moe.range_filter_batched" : `moe.range_filter_batched_${name}`,
        inside,
        "ns",
      );
      const rounds2 = await repeat(rounds, async () => ({
        mean: await cost({ place, filter: "mean", events: isSlow ? 74 : 7400 }),
        native: await worker.call<number>("native"),
      }));
      report.metric(
        place === "isolated-vm" ? "moe.mean_37x253_vs_native" : `moe.mean_37x253_vs_native_${name}`,
        ratios(
          rounds2.map(({ mean }) => mean.sandboxNs),
          rounds2.map(({ native }) => native),
        ),
        "x",
        place === "isolated-vm" ? atMost(2) : undefined,
      );
      if (place !== "isolated-vm") continue;
      for (const [size, events] of Object.entries(CROSSINGS)) {
        for (const fate of ["rejected", "passed"] as const) {
          const filter = `${fate}_${size}` as Crossing;
          const crossings = await repeat(rounds, () => cost({ place, filter, events }));
          for (const part of ["producerNs", "hostNs", "sandboxNs"] as const)
            report.metric(
              `moe.crossing_${filter}_${part.slice(0, -2)}`,
              crossings.map(crossing => crossing[part] / 1000),
              "us/event",
            );
        }
      }
    }
  } finally {
    await worker.stop();
  }
}

/** One more round comes first, for warming up. */
async function repeat<T>(rounds: number, measure: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = -1; round < rounds; round++) {
    const result = await measure();
    if (round >= 0) results.push(result);
  }
  return results;
}

const ACTS = ["sync", "install", "update"] as const;
type Act = (typeof ACTS)[number];
/** Acts in a row, of which the later half counts; and acts of which each comes after a rest, and then another one. */
const CONDITIONS = {
  in_a_row: { times: 1, acts: 20, restMs: 0 },
  rested: { times: 4, acts: 1, restMs: 15 },
} as const;

/**
 * A modulator with 400 bytes of state, against a synchronous event of 400 bytes, which is measured beside it under the same
 * conditions. A slider that is dragged is updates in a row; nobody installs again and again without a rest.
 */
async function latencies({ report, quick }: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  try {
    for (const tier of ["hosted", "local"] as const) {
      const [producing, consuming] = [new Worker("moe-latency"), new Worker("moe-latency")];
      const side: Side = { port: gateway.port, local: tier === "local" };
      await producing.call("produce", side);
      await consuming.call("consume", side);
      for (const [condition, { times, acts, restMs }] of Object.entries(CONDITIONS)) {
        const all = await repeat(quick ? 10 : 30, async () => {
          const took: Record<Act, number[]> = { sync: [], install: [], update: [] };
          for (let i = 0; i < times; i++)
            for (const act of ACTS) {
              const where = act === "sync" ? producing : consuming;
              took[act].push(...(await where.call<number[]>(act, { acts, restMs } satisfies Measurement)));
            }
          return took;
        });
        const counted = restMs > 0 ? 0 : acts / 2;
        const of = (act: Act): number[] => all.map(round => summarise(round[act].slice(counted)).median);
        const name = tier === "hosted" ? condition : `${condition}_${tier}`;
        for (const act of ACTS) report.metric(`moe.${act}_${name}`, of(act), "us");
        const headline = { install: "rested", update: "in_a_row" };
        for (const [act, goal] of [
          ["install", 1.5],
          ["update", 0.6],
        ] as const) {
          const isHeadline = tier === "hosted" && condition === headline[act];
          report.metric(
            isHeadline ? `moe.${act}_vs_sync_event` : `moe.${act}_vs_sync_event_${name}`,
            ratios(of(act), of("sync")),
            "x",
            isHeadline ? atMost(goal) : undefined,
          );
        }
      }
      await Promise.all([producing.stop(), consuming.stop()]);
    }
  } finally {
    await gateway.stop();
  }
}
