import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Report that Vitest writes about a run, as far as it is of interest here. */
export interface VitestReport {
  readonly numTotalTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly title: string;
      readonly fullName: string;
    }[];
  }[];
}

/** Runs tests as `npm test` does. That some fail is a result. @param args files and options */
export async function runVitest(args: readonly string[]): Promise<VitestReport> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-vitest-"));
  try {
    const file = join(folder, "report.json");
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const all = [vitest, "run", ...args, "--reporter=json", `--outputFile=${file}`];
    await new Promise<void>(resolve => {
      execFile(process.execPath, all, { cwd: ROOT, maxBuffer: 64 << 20 }, () => resolve());
    });
    return JSON.parse(await readFile(file, "utf8")) as VitestReport;
  } finally {
    await rm(folder, { recursive: true });
  }
}
