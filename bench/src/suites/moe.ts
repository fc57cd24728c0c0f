import { Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { columnsOf, ratios } from "../statistics.ts";
import { type Context, repeat, type Suite } from "../suite.ts";
import type { Cost, CostOf, Crossing } from "../workers/moe-cost.ts";
import { moeBreakEven } from "./moe-break-even.ts";
import { moeConformance } from "./moe-conformance.ts";
import { moeLatencies } from "./moe-latencies.ts";

/** The environment that modulators run in: is it sound, and what does it cost in each place? */
export const moe: Suite = {
  name: "moe",
  about: "modulators in the local tier and on both engines: conformance, cost of a call, when a filter pays",
  async run(context) {
    await costs(context);
    await moeLatencies(context);
    await moeBreakEven(context);
    await moeConformance(context);
  },
};

const PLACES = ["local", "isolated-vm", "quickjs"] as const;

/** Events by size: enough for each measurement to take a few tenths of a second. */
const CROSSINGS = { "100b": 200_000, "1kb": 50_000, "37kb": 2000 } as const;

/** Measures what an event costs a filter, and where that goes. */
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
        mean: (await cost({ place, filter: "mean", events: isSlow ? 74 : 7400 })).sandboxNs,
        native: await worker.call<number>("native"),
      }));
      const { mean, native } = columnsOf(rounds2);
      report.metric(
        place === "isolated-vm" ? "moe.mean_37x253_vs_native" : `moe.mean_37x253_vs_native_${name}`,
        ratios(mean, native),
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
