import { whyNoNats } from "@jecho/e2e/nats";
import { FAULT_NAMES, type FaultName } from "../chaos/faults.ts";
import { atMost } from "../report.ts";
import type { Context, Suite } from "../suite.ts";
import { disturb } from "./chaos.ts";
import { clusterFigures } from "./cluster-figures.ts";
import { clusterWorkers } from "./cluster-workers.ts";

const GATEWAYS = 3;
const FAULTS = 110;
const QUICK_FAULTS = 6;
const [PATIENCE_MS, QUICK_PATIENCE_MS] = [15_000, 8000];

/** Faults of the history's file, which no gateway of a cluster has. */
const NOT_OF_CLUSTERS: ReadonlySet<FaultName> = new Set([
  "reader-of-the-past",
  "disk-full",
  "bit-flipped-in-file",
]);

const ABOUT = "what is lost, repeated or out of order while they and all others are killed, stopped and cut";

export const cluster: Suite = {
  name: "cluster",
  about: `three gateways that share channels: ${ABOUT}`,
  limitMs: 3_600_000,
  async run(context) {
    // Who looks for one fault wants no figures.
    if (context.chaos.kinds === undefined) {
      await clusterFigures(context.report, context.quick);
      await clusterWorkers(context.report, context.quick);
    }
    await underFaults("cluster", context, false);
  },
};

export const natsCluster: Suite = {
  name: "nats",
  about: `three gateways that share channels by NATS, and that: ${ABOUT}`,
  limitMs: 3_600_000,
  async run(context) {
    const why = await whyNoNats();
    if (why === undefined) await underFaults("nats", context, true);
    else context.report.note(why);
  },
};

async function underFaults(name: string, context: Context, byNats: boolean): Promise<void> {
  const { report, quick } = context;
  const { verdict, ended } = await disturb(name, context, {
    gateways: GATEWAYS,
    byNats,
    faults: quick ? QUICK_FAULTS : FAULTS,
    least: quick ? QUICK_FAULTS : 100,
    patienceMs: quick ? QUICK_PATIENCE_MS : PATIENCE_MS,
    kinds: FAULT_NAMES.filter(kind => !NOT_OF_CLUSTERS.has(kind)),
  });
  report.metric(`${name}.told`, verdict.told, "events");
  report.metric(`${name}.overtold`, verdict.overtold, "events");
  report.metric(`${name}.ended`, ended, "consumers", atMost(0));
}
