import { CHANNELS, Status } from "@jecho/atmosphere";
import { connect } from "@jecho/client";
import { Cutter } from "../src/cutter.ts";
import { killSharedWorkers } from "../src/shared-workers.ts";
import { expect, lastSeen, nextStep, noted, seen, show, test, view } from "./fixtures.ts";

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
  const cutter = await Cutter.start(system.url);
  try {
    const page = await open(undefined, "", cutter.url);
    const manifest = await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      const { href } = document.querySelector('link[rel="manifest"]') as HTMLLinkElement;
      return (await fetch(href)).json() as Promise<{ icons: { src: string }[] }>;
    });
    for (const { src } of manifest.icons)
      expect((await page.request.get(new URL(src, page.url()).href)).status(), src).toBe(200);
    cutter.part();
    await page.reload();
    await expect(page.getByTestId("page-state")).toHaveText(/^(re)?connecting/);
    cutter.join();
    for (const kind of KINDS) await expect(view(page, kind)).toHaveAttribute("data-state", "live");
    await nextStep(page, "map");
  } finally {
    await cutter.close();
  }
});
