import { type ChaosOptions, type ChaosResult, runChaos } from "../chaos/chaos.ts";
import { CATEGORIES, sumOf, type Verdict } from "../chaos/checker.ts";
import { FAULT_NAMES, type FaultName } from "../chaos/faults.ts";
import { atLeast, atMost } from "../report.ts";
import type { Context, Suite } from "../suite.ts";

const FAULTS = 330;
const QUICK_FAULTS = 8;
/**
 * Time without any event after which nothing more will come; after a quarter of it some more are raised, which show gaps. Where sixty programs want
 * the processor, killed processes take most of a minute to be back; a quick run is for a machine with nothing else to do.
 */
const [PATIENCE_MS, QUICK_PATIENCE_MS] = [60_000, 5000];
const MOST_NOTES = 60;

/** Events lost, repeated or in disorder when everything is killed, stopped, cut and spoilt. */
export const chaos: Suite = {
  name: "chaos",
  about: "what is lost, repeated or out of order while everything is killed, stopped, cut and handed over",
  limitMs: 7_200_000,
  async run(context: Context) {
    const { report, quick } = context;
    const { verdict, verdicts, ended, kinds } = await disturb("chaos", context, {
      faults: quick ? QUICK_FAULTS : FAULTS,
      least: quick ? QUICK_FAULTS : 300,
      leastEvents: quick ? 1000 : 5_000_000,
      patienceMs: quick ? QUICK_PATIENCE_MS : PATIENCE_MS,
    });
    report.metric("chaos.kinds", kinds.size, "kinds", atLeast(quick ? 1 : 14));
    report.metric("chaos.restarted_untold", verdict.restartedUntold, "restarts", atMost(0));
    report.metric("chaos.told", verdict.told - verdicts.slow.told, "events");
    report.metric("chaos.told_slow", verdicts.slow.told, "events");
    report.metric("chaos.overtold", verdict.overtold, "events", atMost(0));
    report.metric("chaos.late", verdict.late, "events");
    report.metric("chaos.restarted", verdict.restarts, "restarts");
    report.metric("chaos.lost_with_state", verdict.lostWithState, "events");
    report.metric("chaos.repeated_in_part", verdict.repeatedInPart, "events");
    report.metric("chaos.ended", ended, "consumers");
  },
};

/** Faults as a suite wants them, where nobody asks for others, and how many of them and of events there have to be. */
interface Disturbance extends Omit<ChaosOptions, "seed" | "log"> {
  readonly least: number;
  readonly leastEvents?: number;
}

/** Has things go wrong, and tells what became of the events meanwhile. */
export async function disturb(
  name: string,
  { report, chaos: { seed: wanted, faults, kinds, atOnce } }: Context,
  { least, leastEvents, ...usual }: Disturbance,
): Promise<ChaosResult & { readonly verdict: Verdict }> {
  const seed = wanted ?? Math.floor(Math.random() * 2 ** 32);
  report.note(`the seed is ${seed}`);
  const begin = performance.now();
  const result = await runChaos({
    ...usual,
    seed,
    ...(faults !== undefined && { faults }),
    ...(kinds !== undefined && { kinds: kinds.map(faultName) }),
    ...(atOnce !== undefined && { atOnce }),
    log: line => console.log(`  ${((performance.now() - begin) / 1000).toFixed(1)} s: ${line}`),
  });
  const { kinds: done, notes, failures, skipped } = result;
  const verdict = sumOf(result.verdicts);
  const times = [...done.values()].reduce((sum, { times }) => sum + times, 0);
  report.metric(`${name}.faults`, times, "faults", atLeast(least));
  const goal = leastEvents === undefined ? undefined : atLeast(leastEvents);
  report.metric(`${name}.events`, verdict.events, "events", goal);
  report.metric(`${name}.lost_untold`, verdict.lostUntold - verdict.late, "events", atMost(0));
  report.metric(`${name}.duplicated`, verdict.duplicated, "events", atMost(0));
  report.metric(`${name}.reordered`, verdict.reordered, "events", atMost(0));
  report.metric(`${name}.corrupt`, verdict.corrupt, "events", atMost(0));
  report.metric(`${name}.unsteered`, result.unsteered, "changes", atMost(0));
  report.metric(`${name}.failures`, failures.length, "failures", atMost(0));
  report.note("sums: plain and kept + plain and live + modulated and kept + modulated and live + slow");
  for (const line of kindLines(done)) report.note(line);
  for (const line of [...skipped, ...failures]) report.note(line);
  for (const line of notes.slice(0, MOST_NOTES)) console.error(`  ${line}`);
  return { ...result, verdict };
}

function faultName(name: string): FaultName {
  const known = FAULT_NAMES.find(one => one === name);
  if (known === undefined)
    throw new Error(`there is no fault "${name}"; there are ${FAULT_NAMES.join(", ")}`);
  return known;
}

/** Each kind with its counts; those of what went wrong at the same time are among them. */
function kindLines(kinds: ChaosResult["kinds"]): string[] {
  return [...kinds]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, { times, verdicts, ended }]) => {
      const { events, duplicated, reordered } = sumOf(verdicts);
      const each = (what: "lostUntold" | "told"): string =>
        CATEGORIES.map(category => verdicts[category][what]).join(" + ");
      return `${kind}: ${times} times; ${events} events, ${each("lostUntold")} lost untold, ${each("told")} told, ${duplicated} duplicated, ${reordered} reordered, ${ended} consumers ended`;
    });
}
