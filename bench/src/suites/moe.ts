import { GatewayProcess, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Cost, CostOf } from "../workers/moe-cost.ts";
import type { Latencies } from "../workers/moe-latency.ts";
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

/** What an event costs a filter, and where that goes. */
async function costs({ report, quick }: Context): Promise<void> {
  const rounds = quick ? 3 : 7;
  const worker = new Worker("moe-cost");
  const cost = (of: CostOf): Promise<Cost> => worker.call<Cost>("cost", of);
  try {
    for (const place of PLACES) {
      const name = place.replace("-", "_");
      const rounds1 = await repeat(rounds, () => cost({ place, filter: "range", events: 20_000 }));
      const inside = rounds1.map(({ sandboxNs }) => sandboxNs);
      report.metric(
        place === "isolated-vm" ? "moe.range_filter_batched" : `moe.range_filter_batched_${name}`,
        inside,
        "ns",
      );
      const rounds2 = await repeat(rounds, async () => ({
        mean: await cost({ place, filter: "mean", events: place === "quickjs" ? 74 : 740 }),
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
      // The crossing of 37 layers of 37 x 253 cells, of which one gets through.
      const crossings = await repeat(rounds, () => cost({ place, filter: "layer", events: 740 }));
      for (const part of ["producerNs", "hostNs", "sandboxNs"] as const)
        report.metric(
          `moe.crossing_37kb_${part.slice(0, -2)}`,
          crossings.map(crossing => crossing[part] / 1000),
          "us/event",
        );
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

/** A modulator with 400 bytes of state, against a synchronous event of 400 bytes. */
async function latencies({ report, quick }: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  const worker = new Worker("moe-latency");
  try {
    await worker.call("open", gateway.port);
    const all = await repeat(quick ? 30 : 150, () => worker.call<Latencies>("measure"));
    const of = (step: keyof Latencies): number[] => all.map(latency => latency[step]);
    for (const step of ["sync", "install", "update"] as const) report.metric(`moe.${step}`, of(step), "us");
    report.metric("moe.install_vs_sync_event", ratios(of("install"), of("sync")), "x", atMost(1.5));
    report.metric("moe.update_vs_sync_event", ratios(of("update"), of("sync")), "x", atMost(0.6));
  } finally {
    await Promise.all([worker.stop(), gateway.stop()]);
  }
}
