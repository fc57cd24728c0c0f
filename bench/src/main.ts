import { mkdir, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import { killAll } from "./processes.ts";
import { type SuiteResult, updateReadme } from "./readme.ts";
import { formatGoals, Report } from "./report.ts";
import type { Suite } from "./suite.ts";
import { channels } from "./suites/channels.ts";
import { chaos } from "./suites/chaos.ts";
import { cluster, natsCluster } from "./suites/cluster.ts";
import { compiled } from "./suites/compiled.ts";
import { connections } from "./suites/connections.ts";
import { delivery } from "./suites/delivery.ts";
import { eager } from "./suites/eager.ts";
import { growth } from "./suites/growth.ts";
import { hostile } from "./suites/hostile.ts";
import { moe } from "./suites/moe.ts";
import { pipeline } from "./suites/pipeline.ts";
import { scale } from "./suites/scale.ts";
import { sinks } from "./suites/sinks.ts";
import { table1 } from "./suites/table1.ts";
import { types } from "./suites/types.ts";
import { viewer } from "./suites/viewer.ts";

const SUITES: readonly Suite[] = [
  table1,
  sinks,
  pipeline,
  channels,
  eager,
  moe,
  compiled,
  growth,
  connections,
  viewer,
  delivery,
  types,
  chaos,
  cluster,
  natsCluster,
  scale,
  hostile,
];
const USAGE = `npm run bench [-- SUITE ...] [--quick] [--readme]

  SUITE     ${SUITES.map(({ name, about }) => `${name}: ${about}`).join("\n            ")}
  --quick   at most 60 s a suite
  --readme  write the tables into bench/README.md; a full run does so by itself

For chaos:
  --seed N           what goes wrong, and when; a random one by default
  --faults N         how often something goes wrong
  --kinds KIND,...   what may go wrong; everything by default
  --at-once N        how much may go wrong at once`;
const PARENT_CHECK_MS = 500;
const AFTER_FAILURE_MS = 1000;
/** A suite that is still at it has gone wrong. */
const LIMIT_MS = { quick: 180_000, full: 900_000 } as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    readme: { type: "boolean", default: false },
    seed: { type: "string" },
    faults: { type: "string" },
    kinds: { type: "string" },
    "at-once": { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});
const unknown = positionals.filter(name => !SUITES.some(suite => suite.name === name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`bench: there is no suite "${unknown[0]}"`);
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}

const wish = {
  seed: wholeOf("--seed", values.seed),
  faults: wholeOf("--faults", values.faults),
  kinds: values.kinds?.split(","),
  atOnce: wholeOf("--at-once", values["at-once"]),
};

// Children are killed when this process exits, whatever the reason.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
// npm hands signals to a shell that hands them to nobody: without its parent this process has no reason to run.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(130);
}, PARENT_CHECK_MS).unref();

const machine = describeMachine(new Date());
const results: SuiteResult[] = [];
const failures: string[] = [];
// What fails where nobody waits for it is the failure of the suite that runs, and otherwise this program's.
const unexpected = (error: unknown): never => {
  throw error;
};
let stray: (error: unknown) => void = unexpected;
process.on("uncaughtException", error => stray(error));
const begin = performance.now();
for (const suite of SUITES) {
  if (positionals.length > 0 && !positionals.includes(suite.name)) continue;
  console.log(`\n${suite.name}: ${suite.about}`);
  const report = new Report(line => console.log(line));
  const start = performance.now();
  try {
    await bounded(suite.run({ report, quick: values.quick, chaos: wish }), suite.limitMs);
  } catch (error) {
    failures.push(suite.name);
    const { stack, message } = error instanceof Error ? error : new Error(String(error));
    console.error(`bench: ${suite.name} failed: ${stack}`);
    // What it left under way fails now, and is no other suite's failure.
    await delay(AFTER_FAILURE_MS);
    report.note(`the suite did not come to its end: ${message.split("\n")[0]}`);
  }
  const seconds = secondsSince(start);
  console.log(`${suite.name}: ${seconds} s`);
  const { rows, missingRows: missing, notes, plots } = report;
  results.push({ suite: suite.name, quick: values.quick, seconds, rows, missing, notes, plots });
}

stray = unexpected;
const folder = fileURLToPath(new URL("../", import.meta.url));
await mkdir(`${folder}results`, { recursive: true });
// A plot only draws what the rows say.
const told = results.map(({ plots: _, ...result }) => result);
const run = { ...machine, quick: values.quick, seconds: secondsSince(begin), failures, results: told };
await writeFile(`${folder}results/latest.json`, `${JSON.stringify(run, null, 2)}\n`);
if (values.readme || (!values.quick && positionals.length === 0))
  await updateReadme(folder, results, machine);

console.log(`\n${formatGoals(results)}`);
console.log(`${results.length} suites in ${run.seconds} s`);
if (failures.length > 0) console.error(`bench: failed: ${failures.join(", ")}`);
// A row that is missed is a result; only a suite that could not run is a failure.
process.exit(failures.length === 0 ? 0 : 1);

function wholeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d+$/.test(text)) return text === undefined ? undefined : Number(text);
  console.error(`bench: ${option} takes a whole number, not "${text}"`);
  process.exit(2);
}

function secondsSince(start: number): number {
  return Math.round((performance.now() - start) / 1000);
}

async function bounded(suite: Promise<void>, fullMs: number = LIMIT_MS.full): Promise<void> {
  const limitMs = values.quick ? LIMIT_MS.quick : fullMs;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took more than ${limitMs / 1000} s`)), limitMs);
  });
  const strayed = new Promise<never>((_, reject) => {
    stray = reject;
  });
  try {
    await Promise.race([suite, late, strayed]);
  } finally {
    clearTimeout(timer);
    stray = () => {};
    // After a failure, too, the next suite has the machine for itself.
    killAll();
  }
}
