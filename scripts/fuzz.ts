// `npm run fuzz -- [--seconds N] [--seed S] [FILTER...]` runs the tests that fuzz for longer: each for N seconds (60) from a random seed on, or with the seed S alone.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ProcessGroup } from "./process-group.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The test files that play seeds by `fuzz` of `e2e/src/fuzz.ts`. */
const FILES = [
  "shared/test/frame-fuzz.test.ts",
  "server/test/fuzz.test.ts",
  "server/test/history/history-file.test.ts",
  "client/test/platform/message-reader.test.ts",
  "modulators/test/tiers/hosted/answers.test.ts",
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string" } },
});
for (const [option, value] of Object.entries(values))
  if (!/^\d+$/.test(value)) {
    console.error(`fuzz: --${option} takes a whole number, not "${value}"`);
    process.exit(2);
  }
const files = FILES.filter(file => positionals.length === 0 || positionals.some(part => file.includes(part)));
if (files.length === 0) {
  console.error(`fuzz: none of these files is meant: ${FILES.join(", ")}`);
  process.exit(2);
}
const first = Math.floor(Math.random() * 2 ** 31);
process.chdir(root);
const group = new ProcessGroup();
const { code } = await group.run(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--disable-console-intercept",
    `--test-timeout=${2 * 1000 * Number(values.seconds) + 120_000}`,
    "-t",
    "F13: whatever|F15|F27: a history|WIRE-5: whatever",
    ...files,
  ],
  values.seed === undefined
    ? { FUZZ_SECONDS: values.seconds, FUZZ_FROM: String(first) }
    : { FUZZ_SEED: values.seed },
);
process.exitCode = code ?? 1;
