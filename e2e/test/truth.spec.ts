import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHANNELS, GridData, Status } from "@jecho/atmosphere";
import { connect, type View, viewFilter } from "@jecho/client";
import type { Locator, Page } from "@playwright/test";
import { System } from "../src/system.ts";
import { drawn, expect, lastSeen, nextStep, noted, seen, test, view } from "./fixtures.ts";

/** Words in the picture and under it, all read at one moment. */
function words(
  page: Page,
): Promise<{ caption: string; layer: string; step: string; low: number; high: number }> {
  return view(page, "map").evaluate(host => {
    const scale = host.querySelector(".scale") as HTMLElement;
    return {
      caption: host.querySelector(".caption")?.textContent ?? "",
      layer: (host as HTMLElement).dataset["layer"] ?? "",
      step: (host as HTMLElement).dataset["step"] ?? "",
      low: Number(scale.dataset["low"]),
      high: Number(scale.dataset["high"]),
    };
  });
}

test("a picture names its own layer, time and scale, whatever is chosen: also while it replays another layer", async ({
  open,
}) => {
  const page = await open();
  const began = await lastSeen(page, "map");
  await expect.poll(() => lastSeen(page, "map")).toBeGreaterThan(began + 16);
  const before = await words(page);
  expect(before.caption).toMatch(/^Ozone, 10 hPa \(32\.3 km\) · day \d+\.\d · step \d+$/);
  expect(before.high).toBeGreaterThan(8);
  // 150 hPa, where there is hardly any.
  await page.getByTestId("layer").fill("24");
  await expect.poll(async () => (await words(page)).caption).toContain("150 hPa");
  await expect.poll(async () => (await words(page)).high).toBeLessThan(2);
  await nextStep(page, "map");

  const captions = await noted(page, '[data-testid="caption-map"]');
  await page.evaluate(() => {
    const map = document.querySelector('[data-view="map"]') as HTMLElement;
    const scale = map.querySelector(".scale") as HTMLElement;
    const wrong: string[] = [];
    Object.assign(globalThis, { wrong });
    // Looked at when a frame has been shown: all of it is of one picture.
    const look = (): void => {
      const caption = map.querySelector(".caption")?.textContent ?? "";
      const isHigh = Number(scale.dataset["high"]) > 8;
      if (isHigh !== caption.includes(" 10 hPa")) wrong.push(`${caption}: up to ${scale.dataset["high"]}`);
      requestAnimationFrame(() => setTimeout(look));
    };
    look();
  });
  // The past of the other layer passes in a second: where the machine paints no frame meanwhile, it is asked for again,
  // as long as a replay goes back to it.
  await expect(async () => {
    const { length } = await seen(page, "map");
    await page.getByTestId("replay-map").click();
    await expect.poll(async () => (await seen(page, "map")).length).toBeGreaterThan(length);
    await expect(view(page, "map")).toHaveAttribute("data-state", "live");
    expect((await captions()).some(text => text.includes(" 10 hPa"))).toBe(true);
  }).toPass({ timeout: 60_000 });
  await expect.poll(async () => (await words(page)).caption).toContain("150 hPa");
  expect(await page.evaluate(() => (globalThis as unknown as { wrong: string[] }).wrong)).toEqual([]);
});

test("a scale is set by a click on it, and follows the data again where that is asked for", async ({
  open,
}) => {
  const page = await open();
  await page.getByTestId("set-scale-map").click();
  await page.getByTestId("scale-low-map").fill("2");
  await page.getByTestId("scale-high-map").fill("1");
  await expect(page.getByRole("button", { name: "Set", exact: true })).toBeDisabled();
  await page.getByTestId("scale-high-map").fill("6.5");
  await page.getByTestId("scale-high-map").press("Enter");
  // The focus is where somebody without a pointer goes on.
  await expect(page.getByTestId("set-scale-map")).toBeFocused();
  for (const kind of ["map", "globe"]) {
    const scale = page.getByTestId(`scale-${kind}`);
    await expect(scale).toHaveAttribute("data-low", "2");
    await expect(scale).toHaveAttribute("data-high", "6.5");
    await expect(scale).toHaveAttribute("data-locked", "true");
  }
  // There is more than that at 10 hPa.
  await expect(page.getByTestId("set-scale-map")).toHaveAccessibleName(/values beyond/);
  await page.getByTestId("lock-globe").click();
  await expect(page.getByTestId("scale-map")).not.toHaveAttribute("data-high", "6.5");
});

test("bytes are counted from the page's opening on, however long the simulation ran before, and in one panel", async ({
  open,
  system,
}) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  // The gateway keeps the last word that somebody listened to; the simulation goes on without saying more.
  const status: Status[] = [];
  const listener = await session.channel(CHANNELS.status, Status).subscribe(event => void status.push(event));
  await expect.poll(() => status.length).toBeGreaterThan(0);
  await listener.close();
  const [{ step: kept, bytesPerStep }] = status as [Status];
  let step = 0;
  const column: View = { firstLayer: 5, lastLayer: 5, south: 0, north: 1, west: 0, east: 1, stride: 1 };
  await session.channel(CHANNELS.ozone, GridData).subscribe(event => {
    step = event.step;
  }, viewFilter(column));
  await expect.poll(() => step).toBeGreaterThan(kept + 15);

  const before = step;
  const page = await open();
  const traffic = page.getByTestId("traffic");
  const figure = async (name: string): Promise<number> => Number(await traffic.getAttribute(`data-${name}`));
  await expect.poll(() => figure("produced")).toBeGreaterThan(0);
  expect(await figure("received")).toBeGreaterThan(0);
  const produced = await figure("produced");
  expect(produced / bytesPerStep).toBeLessThanOrEqual(step - before + 1);
  await expect(traffic).toContainText(/Since \d\d:\d\d:\d\d/);
  for (const kind of ["map", "globe", "section"]) {
    await expect(view(page, kind).getByText("kB/s")).toHaveCount(0);
    await expect(traffic.getByTestId(`gauge-${kind}`)).toContainText("kB/s");
  }
});

test("a source is marked and listed with what it is, and can be removed again", async ({ open }) => {
  const [page, other] = [await open(), await open()];
  // A source lasts for a day of the model, and that may be seconds.
  await page.getByTestId("pause").click();
  await expect(other.getByTestId("pause")).toHaveAttribute("data-paused", "true");
  await page.getByTestId("pick").click();
  await page.getByTestId("surface-map").click({ position: { x: 120, y: 60 } });
  await page.getByTestId("amount").fill("30");
  await page.getByTestId("add-source").click();
  const list = other.getByTestId("source-list");
  await expect(list.getByRole("listitem")).toHaveCount(1);
  await expect(list).toContainText(/30 ppmv\/day at .* 10 hPa, 1\.0 days left/);
  await expect(other.getByTestId("notice")).toHaveText(/^day \d+\.\d: source \d+ of 30 ppmv/);
  await other.getByRole("button", { name: /^Remove source/ }).click();
  await expect(page.getByTestId("source-list")).toHaveCount(0);
  await expect(page.getByTestId("notice")).toHaveText(/source \d+ is removed/);
  await page.getByTestId("pause").click();
});

test("a simulation that dies takes its controls and its old word with it, and goes on where it was", async ({
  browser,
}) => {
  const checkpoint = join(tmpdir(), `atmosphere-${crypto.randomUUID()}`);
  const system = await System.start("--checkpoint", checkpoint, "--speed", "5");
  try {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    await page.goto(system.url);
    await expect(view(page, "map")).toHaveAttribute("data-state", "live");
    await page.getByTestId("month").selectOption({ label: "Set mid July" });
    await expect(page.getByTestId("notice")).toHaveText(/it is July/);
    await expect.poll(async () => Number(await drawn(page, "map", "step"))).toBeGreaterThan(40);
    await system.killSimulation();
    await expect(page.getByTestId("page")).toHaveAttribute("data-state", "stale");
    await expect(page.getByTestId("pause")).toBeDisabled();
    await expect(page.getByTestId("notice")).toBeEmpty();
    // Nobody knows its speed now.
    await expect(page.getByTestId("steering").locator("output")).toHaveText("–");
    await expect(page.getByTestId("banner")).toContainText("Nothing is heard of the simulation");
    const died = Number(await drawn(page, "map", "step"));
    const steps = await noted(page, '[data-testid="model-step"]');
    await system.restartSimulation();
    await expect(page.getByTestId("page")).toHaveAttribute("data-state", "live");
    await expect(page.getByTestId("pause")).toBeEnabled();
    await nextStep(page, "map");
    const first = Number((await steps()).find(step => Number(step) < died) ?? died);
    // At most what was made since it was last kept is made again.
    expect(first).toBeGreaterThan(1);
    expect(died - first).toBeLessThan(40);
    await expect(page.getByTestId("model-date")).toContainText(/July|August/);
    await page.context().close();
  } finally {
    await system.stop();
    await rm(checkpoint, { force: true });
  }
});

test("two maps of different parts share a scale, and each says that values lie beyond it on either side", async ({
  browser,
  system,
}) => {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  // The whole earth, and a part of the tropics, where nothing is as low.
  await page.goto(`${system.url}?views=map,map&map=0,0,360&map=0,0,40&scale=7.5,9.5`);
  for (const map of [0, 1]) await expect(view(page, "map").nth(map)).toHaveAttribute("data-step", /\d/);
  const [first, second] = [0, 1].map(map => page.getByTestId("scale-map").nth(map).locator(".scale-bar"));
  for (let i = 0; i < 3; i++) {
    await expect(first as Locator).toHaveText("◂▸");
    await expect(second as Locator).toHaveText("◂▸");
    const step = await view(page, "map").nth(1).getAttribute("data-step");
    await expect(view(page, "map").nth(1)).not.toHaveAttribute("data-step", `${step}`);
  }
  await page.context().close();
});
