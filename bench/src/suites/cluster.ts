import { whyNoNats } from "@jecho/e2e/nats";
import { runChaos } from "../chaos/chaos.ts";
import { sumOf } from "../chaos/checker.ts";
import { FAULT_NAMES, type FaultName } from "../chaos/faults.ts";
import { atLeast, atMost } from "../report.ts";
import type { Context, Suite } from "../suite.ts";
import { faultName, kindLines } from "./chaos.ts";
import { clusterFigures } from "./cluster-figures.ts";
import { clusterWorkers } from "./cluster-workers.ts";

const GATEWAYS = 3;
const FAULTS = 110;
const QUICK_FAULTS = 6;
const [PATIENCE_MS, QUICK_PATIENCE_MS] = [15_000, 8000];
const MOST_NOTES = 60;

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
    await disturb("cluster", context, false);
  },
};

export const natsCluster: Suite = {
  name: "nats",
  about: `three gateways that share channels by NATS, and that: ${ABOUT}`,
  limitMs: 3_600_000,
  async run(context) {
    const why = await whyNoNats();
    if (why === undefined) await disturb("nats", context, true);
    else context.report.note(why);
  },
};

async function disturb(name: string, context: Context, byNats: boolean): Promise<void> {
  const {
    report,
    quick,
    chaos: { seed: wanted, faults, kinds, atOnce },
  } = context;
  const seed = wanted ?? Math.floor(Math.random() * 2 ** 32);
  report.note(`the seed is ${seed}`);
  const begin = performance.now();
  const {
    verdicts,
    ended,
    unsteered,
    kinds: done,
    notes,
    failures,
  } = await runChaos({
    seed,
    gateways: GATEWAYS,
    byNats,
    faults: faults ?? (quick ? QUICK_FAULTS : FAULTS),
    patienceMs: quick ? QUICK_PATIENCE_MS : PATIENCE_MS,
    kinds: kinds?.map(faultName) ?? FAULT_NAMES.filter(kind => !NOT_OF_CLUSTERS.has(kind)),
    ...(atOnce !== undefined && { atOnce }),
    log: line => console.log(`  ${((performance.now() - begin) / 1000).toFixed(1)} s: ${line}`),
  });
  const verdict = sumOf(verdicts);
  const times = [...done.values()].reduce((sum, { times }) => sum + times, 0);
  report.metric(`${name}.faults`, times, "faults", atLeast(quick ? QUICK_FAULTS : 100));
  report.metric(`${name}.events`, verdict.events, "events");
  report.metric(`${name}.lost_untold`, verdict.lostUntold - verdict.late, "events", atMost(0));
  report.metric(`${name}.duplicated`, verdict.duplicated, "events", atMost(0));
  report.metric(`${name}.reordered`, verdict.reordered, "events", atMost(0));
  report.metric(`${name}.corrupt`, verdict.corrupt, "events", atMost(0));
  report.metric(`${name}.told`, verdict.told, "events");
  report.metric(`${name}.overtold`, verdict.overtold, "events");
  report.metric(`${name}.ended`, ended, "consumers", atMost(0));
  report.metric(`${name}.unsteered`, unsteered, "changes", atMost(0));
  report.metric(`${name}.failures`, failures.length, "failures", atMost(0));
  for (const line of kindLines(done)) report.note(line);
  for (const line of failures) report.note(line);
  for (const line of notes.slice(0, MOST_NOTES)) console.error(`  ${line}`);
}
