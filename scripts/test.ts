// `npm test` runs everything, Vitest and Playwright side by side, as most tests wait most of their time; `npm test -- FILTER...` only Vitest on
// these, `npm test -- e2e ARGS...` only Playwright.
// Its last lines name what failed; the last one is the sum of both: `N passed, N failed`, with `, N skipped` where some were.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ProcessGroup } from "./process-group.ts";
import {
  add,
  format,
  nothing,
  type Tally,
  tallyPlaywright,
  tallyVitest,
  type VitestReport,
  withExitCode,
} from "./tally.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
const group = new ProcessGroup();
const folder = mkdtempSync(join(tmpdir(), "jecho-test-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** For the hundreds of Node processes that tests start. What these leave in temporary folders goes when all is over. */
const environment = {
  TMPDIR: folder,
  TEMP: folder,
  TMP: folder,
  NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${new URL("stripped.mjs", import.meta.url)}`,
  NODE_COMPILE_CACHE: join(root, "node_modules/.cache/jecho-compiled"),
};

async function vitest(args: string[], output?: "lines"): Promise<Tally> {
  const report = join(folder, "vitest.json");
  const { code } = await group.run(
    process.execPath,
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--passWithNoTests",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...args,
    ],
    environment,
    output,
  );
  return withExitCode(
    tallyOf(report, (report: VitestReport) => tallyVitest(report, root)),
    code,
    "Vitest",
  );
}

async function playwright(args: string[], output?: "lines"): Promise<Tally> {
  const report = join(folder, "playwright.json");
  const { code } = await group.run(
    process.execPath,
    [
      join(root, "node_modules/@playwright/test/cli.js"),
      "test",
      "--config=e2e/playwright.config.ts",
      "--pass-with-no-tests",
      "--reporter=list,json",
      ...args,
    ],
    { ...environment, PLAYWRIGHT_JSON_OUTPUT_FILE: report },
    output,
  );
  return withExitCode(tallyOf(report, tallyPlaywright), code, "Playwright");
}

/** A runner that was stopped, or never came to its tests, wrote no report. */
function tallyOf<Report>(file: string, read: (report: Report) => Tally): Tally {
  if (!existsSync(file)) return nothing;
  return read(JSON.parse(readFileSync(file, "utf8")) as Report);
}

const [first, ...rest] = process.argv.slice(2);
const sum =
  first === undefined
    ? (await Promise.all([vitest([], "lines"), playwright([], "lines")])).reduce(add)
    : first === "e2e"
      ? await playwright(rest)
      : await vitest([first, ...rest]);

const ran = sum.passed + sum.failed > 0;
if (group.stopped) console.error(`Stopped by ${group.stopped}.`);
if (!ran) console.error("No test ran.");
console.log(`\n${format(sum)}`);
process.exitCode = ran && sum.failed === 0 && !group.stopped ? 0 : 1;
