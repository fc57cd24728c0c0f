import { fileURLToPath } from "node:url";
import { connect, type Session, type } from "@jecho/client";
import { createGateway, type Gateway } from "@jecho/server";
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { build } from "vite";
import "../pages/places/main.ts";

const PAGE = fileURLToPath(new URL("../pages/places/", import.meta.url));
/** Folder of the page once `gateway` is there. Each of Playwright's workers has its own, since each builds it. */
export const DIST = `${PAGE}dist/${process.env["TEST_PARALLEL_INDEX"] ?? 0}/`;

export const HEARTBEAT_MS = 1000;
export const Tick = type("Tick", { n: "uint32", note: "string" });

/** A gateway that serves a page with the library in it, and a session of this process with the gateway. */
export const test = base.extend<{ session: Session; open: () => Promise<Page> }, { gateway: Gateway }>({
  gateway: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright asks for the pattern
    async ({}, use) => {
      await build({
        root: PAGE,
        logLevel: "error",
        build: { outDir: DIST, target: "es2023" },
        worker: { format: "es" },
      });
      await using gateway = await createGateway({ staticFolder: DIST, heartbeatMs: HEARTBEAT_MS });
      await use(gateway);
    },
    { scope: "worker", timeout: 120_000 },
  ],
  session: async ({ gateway }, use) => {
    await using session = connect(gateway.address, { place: "here" });
    await session.ready();
    await use(session);
  },
  /** Opens another tab of the same browser. */
  open: async ({ context, gateway }, use) => {
    await use(() => openTab(context, gateway));
  },
});

export async function openTab(context: BrowserContext, gateway: Gateway): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`http://${gateway.address}/`);
  await page.waitForFunction(() => globalThis.jecho !== undefined);
  return page;
}

/** Resolves when the test's own session is the only one: what tabs before it had may take its time to go. */
export async function alone(gateway: Gateway): Promise<void> {
  await expect.poll(() => gateway.stats().connections).toBe(1);
}
