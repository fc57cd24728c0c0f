import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { connect, type } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "@playwright/test";
import { build } from "vite";
import { killSharedWorkers } from "../src/shared-workers.ts";

const PAGE = fileURLToPath(new URL("../pages/react/", import.meta.url));
const README = new URL("../../react/README.md", import.meta.url);
const Reading = type("Reading", { station: "uint32", celsius: "float32" });

test("the program in React's README shows what it asks for, in StrictMode, goes on when its SharedWorker dies, and leaves nothing behind", async ({
  browser,
  page,
}) => {
  test.setTimeout(120_000);
  expect(await readFile(README, "utf8")).toContain(await readFile(`${PAGE}app.tsx`, "utf8"));
  const outDir = `${PAGE}dist/`;
  await build({ root: PAGE, logLevel: "error", build: { outDir, target: "es2023", minify: false } });
  await using gateway = await createGateway({ staticFolder: outDir });
  await using session = connect(gateway.address, { place: "here" });
  const producer = await session.channel("weather/readings", Reading).produce();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto(`http://${gateway.address}/`);
  // What is suspended subscribes to nothing, and what StrictMode mounted twice to one.
  await expect.poll(() => producer.demand.total).toBe(1);
  await expect.poll(() => gateway.stats()).toMatchObject({ derivedChannels: 1 });
  const button = page.getByRole("button");
  await expect(button).toHaveText("live: station 7 has no degrees");
  const publish = (): void => {
    for (let station = 0; station < 20; station++) producer.publish({ station, celsius: station + 0.5 });
  };
  publish();
  await expect(button).toHaveText("live: station 7 has 7.5 degrees");
  await button.click();
  await expect
    .poll(async () => {
      publish();
      return button.textContent();
    })
    .toBe("live: station 8 has 8.5 degrees");
  await killSharedWorkers(browser);
  await expect(button).toHaveText("live: station 8 has no degrees");
  await expect.poll(() => producer.demand.total).toBe(1);
  publish();
  await expect(button).toHaveText("live: station 8 has 8.5 degrees");
  await page.evaluate(() => globalThis.leave());
  await expect.poll(() => producer.demand.total).toBe(0);
  await expect.poll(() => gateway.stats()).toMatchObject({ connections: 1, derivedChannels: 0 });
  expect(errors).toEqual([]);
});
