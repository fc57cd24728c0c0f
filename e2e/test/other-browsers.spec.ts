import type { Modulator } from "@jecho/client";
import { mergeTests } from "@playwright/test";
import { findFirefox, findWebKit, type OtherBrowser, type Tab } from "../src/other-browsers.ts";
import { expect, test as ofTheSystem } from "./fixtures.ts";
import { alone, test as ofTheLibrary, Tick } from "./library-page.ts";

const test = mergeTests(ofTheSystem, ofTheLibrary);

const thirds: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    if (event.n % 3 === 0) super.enqueue(event);
  }
}`,
};

/** A tab of the page with the library, which is loaded. */
async function openTab(browser: OtherBrowser, address: string): Promise<Tab> {
  const tab = await browser.open(`http://${address}/`);
  await expect.poll(() => tab.evaluate(() => globalThis.jecho !== undefined)).toBe(true);
  return tab;
}

for (const { name, missing, start } of [findFirefox(), findWebKit()])
  test.describe(name, () => {
    // biome-ignore lint/suspicious/noSkippedTests: where the browser is not there, and with what to install for it
    test.skip(missing !== "", missing);

    test("the atmosphere's page shows three live views, step after step", async ({ system }) => {
      await using browser = await start();
      const page = await browser.open(system.url);
      const steps = (): Promise<(string | undefined)[]> =>
        page.evaluate(() =>
          ["map", "globe", "section"].map(kind => {
            const { state, step } =
              document.querySelector<HTMLElement>(`[data-view="${kind}"]`)?.dataset ?? {};
            return state === "live" ? step : undefined;
          }),
        );
      await expect.poll(steps).toEqual(Array(3).fill(expect.stringMatching(/\d/)));
      const before = Number((await steps())[0]);
      await expect.poll(async () => Number((await steps())[0])).toBeGreaterThan(before + 1);
    });

    test("three tabs have one connection", async ({ gateway, session }) => {
      await alone(gateway);
      const channel = `tabs/${name}`;
      const producer = await session.channel(channel, Tick).produce();
      await using browser = await start();
      const tabs: Tab[] = [];
      for (let i = 0; i < 3; i++) {
        const tab = await openTab(browser, gateway.address);
        await tab.evaluate(async channel => {
          const { connect, type } = globalThis.jecho;
          const Tick = type("Tick", { n: "uint32", note: "string" });
          await connect(location.host, { place: "shared" })
            .channel(channel, Tick)
            .subscribe(({ n }) => {
              document.title = String(n);
            });
        }, channel);
        tabs.push(tab);
      }
      await expect.poll(() => producer.demand.total).toBe(3);
      expect(gateway.stats().connections).toBe(2);
      expect(await producer.publishSync({ n: 7, note: "" })).toBe(3);
      for (const tab of tabs) await expect.poll(() => tab.evaluate(() => document.title)).toBe("7");
    });

    test("a page produces, and runs a consumer's modulator", async ({ gateway, session }) => {
      await alone(gateway);
      const channel = `produced/${name}`;
      await using browser = await start();
      const tab = await openTab(browser, gateway.address);
      const seen: number[] = [];
      // It waits for whoever produces there.
      const opened = session
        .channel(channel, Tick)
        .subscribe(({ n }) => void seen.push(n), { modulator: thirds });
      await tab.evaluate(async channel => {
        const { connect, type } = globalThis.jecho;
        const Tick = type("Tick", { n: "uint32", note: "string" });
        const limits = { callMs: 5000, installMs: 5000 };
        const producer = await connect(location.host, { modulators: { limits } })
          .channel(channel, Tick)
          .produce();
        Object.assign(globalThis, { producer });
      }, channel);
      const consumer = await opened;
      await expect.poll(() => consumer.placements[0]?.at).toBe("producer");
      await tab.evaluate(() => {
        const { producer } = globalThis as unknown as { producer: { publish(event: object): void } };
        for (let n = 1; n <= 9; n++) producer.publish({ n, note: "" });
      });
      await expect.poll(() => seen).toEqual([3, 6, 9]);
    });
  });
