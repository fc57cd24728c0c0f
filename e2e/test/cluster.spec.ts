import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { whyNoNats } from "../src/nats.ts";
import { expect, nextStep, seen, test, view } from "./fixtures.ts";

const START = fileURLToPath(new URL("../../apps/atmosphere/src/start.ts", import.meta.url));
const KINDS = ["map", "globe", "section"];

/** `npm start -- --cluster 3`: the address that it prints, and the processes that it says it runs, the newest of each. */
class Cluster {
  readonly #child: ChildProcess;
  readonly #said: string[] = [];

  constructor() {
    this.#child = fork(START, ["--port", "0", "--cluster", "3"], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    this.#child.stdout?.on("data", chunk => this.#said.push(String(chunk)));
  }

  async address(): Promise<string> {
    const address = (): string | undefined => /atmosphere is at {2}(\S+)\n/.exec(this.#said.join(""))?.[1];
    await expect.poll(address, { timeout: 120_000 }).toBeDefined();
    return address() as string;
  }

  /** Processes, by what each is. */
  get processes(): ReadonlyMap<string, number> {
    const lines = this.#said.join("").matchAll(/^(.+) runs as process (\d+)\n/gm);
    return new Map(Array.from(lines, ([, name = "", pid]) => [name, Number(pid)]));
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
  }
}

/** Standing of each view of a page: the steps without a gap or a repeat, and how many it was told it misses. */
async function standing(page: Page): Promise<unknown[]> {
  return Promise.all(
    KINDS.map(async kind => {
      const ranges = await seen(page, kind);
      const missed = await page.getByTestId(`gauge-${kind}`).getAttribute("data-missed");
      return { kind, ranges: ranges.length, missed };
    }),
  );
}

test("when any gateway of a cluster is killed, or its NATS server, an open page connects again and misses nothing", async ({
  browser,
}) => {
  const why = await whyNoNats();
  // biome-ignore lint/suspicious/noSkippedTests: without a nats-server there is nothing to test
  test.skip(why !== undefined, why);
  const cluster = new Cluster();
  try {
    const page = await (await browser.newContext({ viewport: { width: 1000, height: 720 } })).newPage();
    await page.goto(await cluster.address());
    for (const kind of KINDS) {
      await expect(view(page, kind)).toHaveAttribute("data-state", "live");
      await expect(view(page, kind)).toHaveAttribute("data-step", /\d/);
    }
    const nothingLost = KINDS.map(kind => ({ kind, ranges: 1, missed: "0" }));
    const loaded = await page.evaluate(() => performance.timeOrigin);
    for (const [name, pid] of cluster.processes) {
      process.kill(pid, "SIGKILL");
      await expect.poll(() => cluster.processes.get(name), `${name} is back`).not.toBe(pid);
      for (const kind of KINDS) {
        await expect(view(page, kind)).toHaveAttribute("data-state", "live");
        await nextStep(page, kind);
        await nextStep(page, kind);
      }
      expect(await standing(page), name).toEqual(nothingLost);
    }
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(loaded);
    await page.context().close();
  } finally {
    await cluster.stop();
  }
});
