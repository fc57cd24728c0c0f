import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { connect, type } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "@playwright/test";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = `${ROOT}.cache/pages/`;
const BUNDLERS = ["esbuild", "webpack", "vite"];
/** Next's pages have scripts of their own in their text. */
const POLICIES: Readonly<Record<string, string>> = {
  next: "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self' blob:; connect-src 'self' ws:",
};
const Tick = type("Tick", { n: "uint32" });

interface Report {
  readonly skipped: string;
  readonly built: Readonly<Record<string, string>>;
}

let report: Report;

test.beforeAll(() => {
  // Unless they are there already, several bundlers are fetched first.
  test.setTimeout(900_000);
  const { status, stderr } = spawnSync(process.execPath, ["scripts/pages.ts", ...BUNDLERS], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  report = JSON.parse(readFileSync(`${PAGES}report.json`, "utf8")) as Report;
});

for (const bundler of [...BUNDLERS, "next"]) {
  test(`a page that ${bundler} built has the events of a channel, and those that its own modulator lets through`, async ({
    page,
  }, info) => {
    info.skip(report.skipped !== "", report.skipped);
    info.skip(!existsSync(`${PAGES}${bundler}`), "it is built by npm run test:bundlers");
    const contentPolicy = POLICIES[bundler];
    await using gateway = await createGateway({
      staticFolder: PAGES + bundler,
      ...(contentPolicy !== undefined && { contentPolicy }),
    });
    await using session = connect(gateway.address, { place: "here", modulators: { allow: "none" } });
    const producer = await session.channel("ticks", Tick).produce();
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.goto(`http://${gateway.address}/`);
    await expect.poll(() => producer.demand.total).toBe(2);
    for (let n = 1; n <= 5; n++) producer.publish({ n });
    await expect(page).toHaveTitle(JSON.stringify({ all: [1, 2, 3, 4, 5], odd: [1, 3, 5] }));
    expect(errors).toEqual([]);
  });
}
