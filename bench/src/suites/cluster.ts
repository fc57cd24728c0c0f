import { runChaos } from "../chaos/chaos.ts";
import { sumOf } from "../chaos/checker.ts";
import { FAULT_NAMES, type FaultName } from "../chaos/faults.ts";
import { atLeast, atMost } from "../report.ts";
import type { Context, Suite } from "../suite.ts";
import { faultName, kindLines } from "./chaos.ts";

const GATEWAYS = 3;
const FAULTS = 110;
const QUICK_FAULTS = 6;
const [PATIENCE_MS, QUICK_PATIENCE_MS] = [15_000, 8000];
const MOST_NOTES = 60;

/** Faults of the history's file, which no gateway of a cluster has, and of sessions that are handed over, which clusters cannot do yet. */
const NOT_OF_CLUSTERS: ReadonlySet<FaultName> = new Set([
  "reader-of-the-past",
  "disk-full",
  "bit-flipped-in-file",
  "handover",
  "handover-and-kill",
]);

/** What is lost, repeated or in disorder in a cluster of three, when gateways and all others are killed, stopped and cut. */
export const cluster: Suite = {
  name: "cluster",
  about:
    "three gateways that share channels: what is lost, repeated or out of order while they are killed and stopped",
  limitMs: 3_600_000,
  async run({ report, quick, chaos: { seed: wanted, faults, kinds, atOnce } }: Context) {
    const seed = wanted ?? Math.floor(Math.random() * 2 ** 32);
    report.note(`the seed is ${seed}`);
    const begin = performance.now();
    const {
      verdicts,
      ended,
      kinds: done,
      notes,
      failures,
    } = await runChaos({
      seed,
      gateways: GATEWAYS,
      faults: faults ?? (quick ? QUICK_FAULTS : FAULTS),
      patienceMs: quick ? QUICK_PATIENCE_MS : PATIENCE_MS,
      kinds: kinds?.map(faultName) ?? FAULT_NAMES.filter(kind => !NOT_OF_CLUSTERS.has(kind)),
      ...(atOnce !== undefined && { atOnce }),
      log: line => console.log(`  ${((performance.now() - begin) / 1000).toFixed(1)} s: ${line}`),
    });
    const verdict = sumOf(verdicts);
    const times = [...done.values()].reduce((sum, { times }) => sum + times, 0);
    report.metric("cluster.faults", times, "faults", atLeast(quick ? QUICK_FAULTS : 100));
    report.metric("cluster.events", verdict.events, "events");
    report.metric("cluster.lost_untold", verdict.lostUntold - verdict.late, "events", atMost(0));
    report.metric("cluster.duplicated", verdict.duplicated, "events", atMost(0));
    report.metric("cluster.reordered", verdict.reordered, "events", atMost(0));
    report.metric("cluster.corrupt", verdict.corrupt, "events", atMost(0));
    report.metric("cluster.told", verdict.told, "events");
    report.metric("cluster.overtold", verdict.overtold, "events");
    report.metric("cluster.ended", ended, "consumers", atMost(0));
    report.metric("cluster.failures", failures.length, "failures", atMost(0));
    for (const line of kindLines(done)) report.note(line);
    for (const line of failures) report.note(line);
    for (const line of notes.slice(0, MOST_NOTES)) console.error(`  ${line}`);
  },
};
