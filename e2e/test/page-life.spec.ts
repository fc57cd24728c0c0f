import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buildViewer, CHANNELS, Status, VIEWER_FOLDER } from "@jecho/atmosphere";
import { connect } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { startCutter } from "../src/cutter.ts";
import { killSharedWorkers } from "../src/shared-workers.ts";
import { drawn, expect, lastSeen, nextStep, noted, seen, show, test, view } from "./fixtures.ts";

/** Status that a simulation tells of itself, or that a test has to tell in its place. */
const STATUS: Status = {
  step: 0,
  time: 0,
  madeAt: 0,
  month: 0,
  speed: 1,
  paused: false,
  layers: 37,
  rows: 73,
  columns: 144,
  bytesPerStep: 0,
  viewers: 0,
  sources: [],
  notice: "",
  noticeBy: "",
  noticeTime: 0,
  firstStep: 0,
  watchers: [],
};
const KINDS = ["map", "globe", "section"] as const;

test("a hidden page is sent no fields, and begins with the newest step when it is shown again", async ({
  open,
  system,
}) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  let step = -1;
  await session.channel(CHANNELS.status, Status).subscribe(status => {
    step = status.step;
  });
  const page = await open();
  // What only sends changes has to begin with everything again.
  await page.getByTestId("alarm-globe").click();
  await expect(view(page, "globe")).toHaveAttribute("data-mode", "alarm");
  await nextStep(page, "globe");
  const last = (): Promise<number[]> => Promise.all(KINDS.map(kind => lastSeen(page, kind)));

  await show(page, false);
  // What was on its way may still come.
  await expect
    .poll(async () => {
      const before = await last();
      const begun = step;
      await expect.poll(() => step).toBeGreaterThan(begun + 1);
      return (await last()).map((now, i) => now - (before[i] as number));
    })
    .toEqual([0, 0, 0]);
  const hidden = await last();
  const now = step;

  await show(page, true);
  for (const [i, kind] of KINDS.entries()) {
    await expect.poll(() => lastSeen(page, kind)).toBeGreaterThan(now);
    await expect(view(page, kind)).toHaveAttribute("data-state", "live");
    const since = (await seen(page, kind)).findIndex(({ last }) => last === hidden[i]);
    // Nothing of the time between, and nothing of that is called missed.
    const next = (await seen(page, kind))[since + 1];
    expect(next?.first, kind).toBeGreaterThanOrEqual(now);
    await expect(page.getByTestId(`gauge-${kind}`)).toHaveAttribute("data-missed", "0");
  }
});

test("a page whose SharedWorker died goes on by itself with a new one, as it was", async ({
  browser,
  open,
}) => {
  const page = await open();
  await page.getByTestId("layer").fill("20");
  await page.getByTestId("zoom-in").click();
  await expect(view(page, "map")).toHaveAttribute("data-layer", "20");
  const states = await noted(page, '[data-view="map"]', "data-state");
  await killSharedWorkers(browser);
  await expect.poll(states).toContain("reconnecting");
  for (const kind of KINDS) await expect(view(page, kind)).toHaveAttribute("data-state", "live");
  await nextStep(page, "map");
  expect(await states()).not.toContain("refused");
  await expect(view(page, "map")).toHaveAttribute("data-layer", "20");
  await expect(page.getByTestId("banner")).toBeEmpty();
});

test("a page that was there once starts without a network, and says that it has none", async ({
  open,
  system,
}) => {
  await using cutter = await startCutter(system.url);
  const page = await open(undefined, "", cutter.url);
  const manifest = await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    const { href } = document.querySelector('link[rel="manifest"]') as HTMLLinkElement;
    return (await fetch(href)).json() as Promise<{ icons: { src: string }[] }>;
  });
  for (const { src } of manifest.icons)
    expect((await page.request.get(new URL(src, page.url()).href)).status(), src).toBe(200);
  // A picture is kept when somebody looks elsewhere.
  await nextStep(page, "map");
  const caption = (kind: string) => page.getByTestId(`caption-${kind}`);
  await show(page, false);
  const seen = Number(await drawn(page, "map", "step"));
  await expect
    .poll(() => page.evaluate(async () => (await (await caches.open("pictures")).keys()).length))
    .toBe(3);
  cutter.part();
  await page.reload();
  await expect(page.getByTestId("page-state")).toHaveText(/^(re)?connecting/);
  for (const kind of KINDS) await expect(caption(kind)).toHaveText(/day \d+\.\d · step \d+ · seen .*20\d\d/);
  expect(Number(await drawn(page, "map", "step"))).toBeLessThanOrEqual(seen);
  await expect(page.getByTestId("banner")).toContainText("There is no connection to localhost");
  await expect(view(page, "map").getByText(/^Connecting: .*The picture is old/)).toBeVisible();
  cutter.join();
  for (const kind of KINDS) {
    await expect(view(page, kind)).toHaveAttribute("data-state", "live");
    await expect(caption(kind)).not.toContainText("seen");
  }
  await nextStep(page, "map");
});

test("a page that was there once starts behind a proxy whose gateway is away", async ({
  browser,
  system,
}) => {
  let isAway = false;
  const proxy = createServer(async ({ url = "" }, answer) => {
    if (isAway) return void answer.writeHead(502).end("Bad Gateway");
    const { status, headers, body } = await fetch(new URL(url, system.url), {
      headers: { "accept-encoding": "identity" },
    });
    answer.writeHead(status, Object.fromEntries(headers));
    for await (const chunk of body ?? []) answer.write(chunk);
    answer.end();
  }).listen(0, "localhost");
  await once(proxy, "listening");
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://localhost:${(proxy.address() as AddressInfo).port}/`);
    await page.evaluate(() => navigator.serviceWorker.ready);
    isAway = true;
    await page.reload();
    await expect(page.getByTestId("page-state")).toHaveText(/^connecting/);
    await page.context().close();
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test("a page that is loaded again, or comes back from another, looks at what it looked at", async ({
  open,
}) => {
  const page = await open();
  await page.getByTestId("layer").fill("20");
  for (let i = 0; i < 3; i++) await page.getByTestId("zoom-in").click();
  await page.getByTestId("colours-turbo").click();
  await page.getByTestId("alarm-globe").click();
  await page.getByTestId("threshold-globe").fill("0.2");
  await page.getByTestId("threshold-globe").press("Enter");
  await page.getByTestId("detail-section").selectOption("4");
  await expect(view(page, "globe")).toHaveAttribute("data-mode", "alarm");
  await expect.poll(async () => Number(await drawn(page, "map", "columns"))).toBeLessThan(100);
  await expect(view(page, "section")).toHaveAttribute("data-rows", "19");
  await nextStep(page, "map");
  const window = await drawn(page, "map", "window");

  const asBefore = async (): Promise<void> => {
    await expect(view(page, "map")).toHaveAttribute("data-window", window);
    await expect(view(page, "map")).toHaveAttribute("data-layer", "20");
    await expect(page.getByTestId("colours-turbo")).toBeChecked();
    await expect(view(page, "globe")).toHaveAttribute("data-mode", "alarm");
    await expect(page.getByTestId("threshold-globe")).toHaveValue("0.2");
    await expect(view(page, "section")).toHaveAttribute("data-rows", "19");
  };
  // The address says it: another tab with it looks at the same.
  await expect.poll(() => page.url()).toMatch(/[?&]hPa=250&.*globe=.*alarm0\.2.*section=stride4/);
  await expect.poll(() => page.url()).toMatch(/[?&]map=[-\d.]+,[-\d.]+,[\d.]+/);
  await page.reload();
  await asBefore();
  const { search } = new URL(page.url());
  const other = await open(undefined, search);
  await expect(view(other, "map")).toHaveAttribute("data-window", window);
  await expect(view(other, "globe")).toHaveAttribute("data-mode", "alarm");
  await page.getByRole("link", { name: "Any channel" }).click();
  await expect(page.getByTestId("any-channel")).toBeVisible();
  await page.goBack();
  await asBefore();
});

test("a page without the simulation's word asks for it again where the gateway says that this may help", async ({
  browser,
}) => {
  await buildViewer(() => {});
  // Two other tabs, which share the page's connection, leave room for the map alone.
  await using gateway = await createGateway({ staticFolder: VIEWER_FOLDER, endpointsPerConnection: 3 });
  await using session = connect(gateway.address, { place: "here" });
  const status = await session.channel(CHANNELS.status, Status).produce({ history: { latest: true } });
  status.publish({ ...STATUS, step: 42 });
  const context = await browser.newContext();
  const others = [await context.newPage(), await context.newPage()];
  for (const other of others) {
    await other.goto(`http://${gateway.address}/#channel=some/numbers`);
    await expect(other.getByTestId("any-state")).toHaveText("waiting for the first event");
  }
  const page = await context.newPage();
  await page.goto(`http://${gateway.address}/?views=map`);
  await expect(page.getByTestId("page")).toHaveAttribute("data-state", "refused");
  await expect(page.getByTestId("banner")).toContainText("OVERLOADED");
  for (const other of others) await other.close();
  await expect(page.getByTestId("model-step")).toHaveText("42");
  await expect(page.getByTestId("banner")).not.toContainText("OVERLOADED");
  await context.close();
});

test("a window that goes to a screen with more pixels is drawn with them", async ({ open }) => {
  const page = await open();
  const ratio = (canvas: string) =>
    view(page, "map")
      .locator(canvas)
      .evaluate(canvas => (canvas as HTMLCanvasElement).width / canvas.clientWidth);
  expect(await ratio(".lines-canvas")).toBeCloseTo(1, 1);
  const cdp = await page.context().newCDPSession(page);
  for (const deviceScaleFactor of [2, 1, 2]) {
    const size = { ...(page.viewportSize() ?? { width: 0, height: 0 }), mobile: false };
    await cdp.send("Emulation.setDeviceMetricsOverride", { ...size, deviceScaleFactor });
    await expect.poll(() => ratio(".lines-canvas")).toBeCloseTo(deviceScaleFactor, 1);
  }
});

test("the link for another device is copied where the clipboard is refused to the page, too", async ({
  open,
}) => {
  const page = await open();
  const errors: Error[] = [];
  page.on("pageerror", error => errors.push(error));
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Browser.setPermission", {
    permission: { name: "clipboard-write" },
    setting: "denied",
    origin: new URL(page.url()).origin,
  });
  await page.getByTestId("hand-over").click();
  await page.getByTestId("handover-copy").click();
  await expect(page.getByTestId("handover-copy")).toHaveText("Copied");
  expect(errors).toEqual([]);
});

test("whoever goes to and fro between the page's parts leaves no graphics context behind", async ({
  open,
}) => {
  const page = await open();
  const warnings: string[] = [];
  page.on("console", message => message.text().includes("WebGL") && warnings.push(message.text()));
  // Each time three canvases, of which a browser allows 16.
  for (let i = 0; i < 6; i++) {
    await page.getByRole("link", { name: "Any channel" }).click();
    await expect(page.getByTestId("any-channel")).toBeVisible();
    await page.getByRole("link", { name: "Atmosphere" }).click();
    await expect(view(page, "map")).toHaveAttribute("data-step", /\d/);
  }
  expect(warnings).toEqual([]);
  await expect(page.locator('[data-view="map"] .field-canvas')).toHaveAttribute("data-painter", "webgl2");
});

test("coastlines that did not come are asked for again", async ({ browser, system }) => {
  // A service worker's requests are its own.
  const page = await (await browser.newContext({ serviceWorkers: "block" })).newPage();
  let asked = 0;
  await page.route("**/land-110m*", route => (++asked === 1 ? route.abort() : route.continue()));
  await page.goto(system.url);
  await page.waitForResponse(response => response.url().includes("land-110m") && response.ok());
  expect(asked).toBe(2);
  await page.context().close();
});
