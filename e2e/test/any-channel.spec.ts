import { connect, json, type } from "@jecho/client";
import { startCutter } from "../src/cutter.ts";
import { expect, test } from "./fixtures.ts";

const Reading = type("Reading", { value: "float64" });

test("a page that knows nothing of a channel shows its fields, live, and draws what is chosen", async ({
  browser,
  system,
}) => {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(`${system.url}#channel=atmosphere/status`);
  const field = (name: string) => page.locator(`[data-field="${name}"] .value`);
  await expect(page.getByRole("heading", { name: "Status" })).toBeVisible();
  await expect(field("columns")).toHaveText("144");
  await expect(field("paused")).toHaveText("false");
  const step = Number(await field("step").textContent());
  await expect.poll(async () => Number(await field("step").textContent())).toBeGreaterThan(step);
  await page.getByRole("button", { name: "step", exact: true }).click();
  const plot = page.getByTestId("plot");
  await expect(plot).toHaveAttribute("data-field", "step");
  await expect.poll(async () => Number(await plot.getAttribute("data-points"))).toBeGreaterThan(2);
  await page.getByText("Schema").click();
  await expect(page.getByText("root_type Status;")).toBeVisible();
  await page.context().close();
});

test("an array is drawn by index, and another channel is opened by its name", async ({ browser, system }) => {
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  await page.goto(`${system.url}#channel=`);
  await page.getByLabel("Channel").fill("atmosphere/ozone");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("button", { name: "values" }).click();
  await expect(page.getByTestId("plot")).toHaveAttribute("data-points", String(144 * 73));
  // Something was drawn: not every pixel of the canvas is alike.
  const colours = await page.getByTestId("plot").evaluate(canvas => {
    const { width, height } = canvas as HTMLCanvasElement;
    const { data } = (canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, width, height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  expect(colours).toBeGreaterThan(3);
  await page.getByRole("link", { name: "Atmosphere" }).click();
  await expect(page.locator('[data-view="map"]')).toBeVisible();
  await page.context().close();
});

test("JSON of a channel without a type is shown by its values", async ({ browser, system }) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  const channel = session.channel("test/json", json());
  const producer = await channel.produce({ history: { latest: true } });
  producer.publish({ volts: 1.5, probe: { name: "left" } });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${system.url}#channel=test/json`);
  const field = (name: string) => page.locator(`[data-field="${name}"] .value`);
  await expect(field("volts")).toHaveText("1.5");
  await expect(field("probe.name")).toHaveText("left");
  await page.getByRole("button", { name: "volts" }).click();
  await expect(page.getByTestId("plot")).toHaveAttribute("data-points", "1");
  await page.context().close();
});

test("a channel's name that is no encoded text is taken as it stands", async ({ browser, system }) => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${system.url}#channel=ozone%`);
  await expect(page.getByLabel("Channel")).toHaveValue("ozone%");
  await expect(page.getByTestId("any-state")).toHaveText("refused");
  await page.context().close();
});

test("however fast events come, it is said how many a second", async ({ browser, system }) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  const producer = await session.channel("test/fast", Reading).produce();
  const timer = setInterval(() => {
    for (let i = 0; i < 60; i++) producer.publish({ value: i });
  }, 20);
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${system.url}#channel=test/fast`);
    const rate = page.locator(".any-line b").nth(1);
    await expect.poll(async () => Number(await rate.textContent())).toBeGreaterThan(900);
    await page.context().close();
  } finally {
    clearInterval(timer);
  }
});

test("a plot of a channel on which nothing comes is drawn again when the phone is turned", async ({
  browser,
  system,
}) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  const producer = await session.channel("test/seldom", Reading).produce();
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  await page.goto(`${system.url}#channel=test/seldom`);
  await expect(page.getByTestId("any-state")).toHaveText("waiting for the first event");
  producer.publish({ value: 1 });
  const plot = page.getByTestId("plot");
  await expect(plot).toHaveAttribute("data-points", "1");
  await expect(page.locator(".any-line")).toContainText("1 event,");
  const isSharp = () =>
    plot.evaluate(canvas => (canvas as HTMLCanvasElement).width - Math.round(canvas.clientWidth));
  await expect.poll(isSharp).toBeLessThan(3);
  await page.setViewportSize({ width: 844, height: 390 });
  await expect.poll(() => plot.evaluate(canvas => canvas.clientWidth)).toBeGreaterThan(600);
  await expect.poll(async () => Math.abs(await isSharp())).toBeLessThan(3);
  await page.context().close();
});

test("a page whose gateway is away says why nothing comes", async ({ browser, system }) => {
  await using cutter = await startCutter(system.url);
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${cutter.url}#channel=atmosphere/status`);
  await expect(page.getByTestId("any-state")).toHaveText("live");
  await expect(page.locator(".any-fault")).toBeEmpty();
  cutter.part();
  await expect(page.getByTestId("any-state")).toHaveText("reconnecting");
  await expect(page.locator(".any-fault")).toContainText("CONNECTION_LOST: ");
  cutter.join();
  await expect(page.getByTestId("any-state")).toHaveText("live");
  await expect(page.locator(".any-fault")).toBeEmpty();
  await page.context().close();
});
