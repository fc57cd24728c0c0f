import { fileURLToPath } from "node:url";
import { createGateway } from "@jecho/server";
import { test as base, expect, type Page } from "@playwright/test";
import { build } from "vite";

const FOLDER = fileURLToPath(new URL("../../modulators/test/page/", import.meta.url));
const CASE_MS = 120_000;

/** Members that the page with the suites has for tests. */
interface SuitesPage {
  readonly runSuite?: (
    suite: string,
    limitMs: number,
  ) => Promise<{ readonly name: string; readonly errors: readonly string[] }[]>;
}

/** The suites of the modulators' places, in a page that a gateway serves, with the policy that it gives to pages. */
const test = base.extend<object, { address: string }>({
  address: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright asks for the pattern
    async ({}, use) => {
      const outDir = `${FOLDER}dist/`;
      await build({ root: FOLDER, logLevel: "error", build: { outDir, target: "es2023", minify: false } });
      await using gateway = await createGateway({ staticFolder: outDir });
      await use(gateway.address);
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

async function run(page: Page, address: string, suite: string) {
  await page.goto(`http://${address}/`);
  await page.waitForFunction(() => (globalThis as SuitesPage).runSuite !== undefined);
  return page.evaluate(
    async ([suite, limitMs]) => (globalThis as SuitesPage).runSuite?.(suite, limitMs) ?? [],
    [suite, CASE_MS] as const,
  );
}

for (const suite of [
  "conformance",
  "intercepts",
  "services",
  "typed-events",
  "input-types",
  "authoring",
  "hostile-services",
  "hostile-time",
  "hostile-memory",
  "hostile-reach",
  "hostile-values",
])
  test(`QuickJS in a page's worker: ${suite}`, async ({ page, address }) => {
    test.setTimeout(900_000);
    const results = await run(page, address, suite);
    expect(results.filter(({ errors }) => errors.length > 0)).toEqual([]);
    expect(results.length).toBeGreaterThan(1);
  });
