import type { Page } from "@playwright/test";
import { startCutter } from "../src/cutter.ts";
import { drawn, expect, lastSeen, nextStep, noted, seen, test, view } from "./fixtures.ts";

const KINDS = ["map", "globe", "section"] as const;

test("DEL-5: a page whose network was cut goes on where it was, without a gap, and says so", async ({
  open,
  system,
}) => {
  await using cutter = await startCutter(system.url);
  const [page, other] = [await open(undefined, "", cutter.url), await open()];
  await nextStep(page, "map");
  const before = await lastSeen(page, "map");
  const resumed = await Promise.all(KINDS.map(kind => noted(page, `[data-testid="resumed-${kind}"]`)));
  cutter.part();
  for (const kind of KINDS) await expect(view(page, kind)).toHaveAttribute("data-state", "reconnecting");
  await expect.poll(() => lastSeen(other, "map")).toBeGreaterThan(before + 6);
  cutter.join();
  for (const [i, kind] of KINDS.entries()) {
    await expect.poll(() => resumed[i]?.()).toEqual(["Resumed, nothing missed"]);
    await expect(view(page, kind)).toHaveAttribute("data-state", "live");
    await expect.poll(() => lastSeen(page, kind)).toBeGreaterThan(before + 6);
    expect(await seen(page, kind), kind).toHaveLength(1);
    await expect(page.getByTestId(`gauge-${kind}`)).toHaveAttribute("data-missed", "0");
  }
  // It is said for a while, not for ever.
  await expect(page.getByTestId("resumed-map")).toHaveCount(0);
});

test("HIST-4: the last minute comes again, in order and faster, and goes on live without a gap", async ({
  open,
  system,
}) => {
  const page = await open();
  // A page that had no processor for a while has been sent the newest step alone (SLOW-5), and begins another range.
  const newest = async () => (await seen(page, "map")).at(-1) as { first: number; last: number };
  await expect
    .poll(async () => newest().then(({ first, last }) => last - first), { timeout: 200_000 })
    .toBeGreaterThan(40);
  const before = (await seen(page, "map")).length - 1;
  // No channel is made for it. Those of pages that were cut off before may go meanwhile.
  const channels = await system.derivedChannels();
  const timed = timeSeen(page, "map");
  // A replay of so little is over in a few seconds.
  const states = await noted(page, '[data-view="map"]', "data-state");
  const badges = await noted(page, '[data-testid="replay-badge-map"]');
  await page.getByTestId("replay-map").click();
  await expect.poll(states).toContain("replay");
  await expect.poll(async () => (await badges()).join()).toContain("behind");
  expect(await system.derivedChannels()).toBeLessThanOrEqual(channels);
  // The other views go on as they are.
  await expect(view(page, "globe")).toHaveAttribute("data-state", "live");
  await expect(view(page, "map")).toHaveAttribute("data-state", "live");
  await expect(page.getByTestId("replay-badge-map")).toHaveCount(0);
  await nextStep(page, "map");
  const ranges = (await seen(page, "map")).slice(before);
  const [live, replayed] = ranges as [{ first: number; last: number }, { first: number; last: number }];
  expect(replayed.first).toBeLessThan(live.last - 30);
  expect(replayed.first).toBeGreaterThanOrEqual(live.first);
  expect(replayed.last).toBeGreaterThan(live.last);
  // While it was of the past, steps came faster than the simulation's two a second.
  const [first, caughtUp] = await timed(before + 2, replayed.first, live.last);
  expect((live.last - replayed.first) / ((caughtUp - first) / 1000)).toBeGreaterThan(4);
  expect(await system.derivedChannels()).toBeLessThanOrEqual(channels);
});

test("a replay ends at once where that is asked for", async ({ open }) => {
  const page = await open();
  const began = await lastSeen(page, "map");
  await expect.poll(() => lastSeen(page, "map"), { timeout: 200_000 }).toBeGreaterThan(began + 30);
  // In the page itself: a replay of so little is over in a second or two.
  await page.evaluate(async () => {
    const map = document.querySelector('[data-view="map"]') as HTMLElement;
    const button = map.querySelector('[data-testid="replay-map"]') as HTMLButtonElement;
    const until = (isSo: () => boolean): Promise<void> =>
      new Promise(resolve => {
        const observer = new MutationObserver(() => {
          if (!isSo()) return;
          observer.disconnect();
          resolve();
        });
        observer.observe(map, { attributes: true, subtree: true });
      });
    button.click();
    await until(() => map.dataset["state"] === "replay" && !button.disabled);
    button.click();
  });
  await expect(view(page, "map")).toHaveAttribute("data-state", "live");
  await expect.poll(async () => (await seen(page, "map")).length).toBe(3);
  await nextStep(page, "map");
  const [live, replayed, again] = await seen(page, "map");
  expect(replayed?.last).toBeLessThan(live?.last ?? 0);
  expect(again?.first).toBeGreaterThan(live?.last ?? 0);
});

test("the last minute is there again after an alarm: what came before it was kept, and cost nothing meanwhile", async ({
  open,
}) => {
  const page = await open();
  const began = await lastSeen(page, "map");
  await expect.poll(() => lastSeen(page, "map")).toBeGreaterThan(began + 10);
  await page.getByTestId("alarm-map").click();
  await expect(view(page, "map")).toHaveAttribute("data-mode", "alarm");
  const alarmed = await lastSeen(page, "map");
  await expect
    .poll(async () => Number(await page.getByTestId("model-step").innerText()))
    .toBeGreaterThan(alarmed + 10);
  await page.getByTestId("filter-map").click();
  await expect(view(page, "map")).toHaveAttribute("data-mode", "filter");
  const back = Number(await page.getByTestId("model-step").innerText());
  await expect.poll(() => lastSeen(page, "map")).toBeGreaterThan(back + 4);
  expect(Number(await page.getByTestId("gauge-map").getAttribute("data-missed"))).toBe(0);
  const ranges = (await seen(page, "map")).length;
  await page.getByTestId("replay-map").click();
  await expect.poll(async () => (await seen(page, "map")).length).toBeGreaterThan(ranges);
  const replayed = (await seen(page, "map"))[ranges];
  expect(replayed?.first).toBeLessThan(alarmed - 5);
  await expect(view(page, "map")).toHaveAttribute("data-state", "live");
  await nextStep(page, "map");
});

/**
 * Notes in the page itself, where no event is missed, when the newest seen step changes. The returned function resolves to
 * the times in milliseconds at which these steps came while there were so many ranges.
 */
function timeSeen(
  page: Page,
  kind: string,
): (ranges: number, first: number, last: number) => Promise<[number, number]> {
  const recording = page.evaluateHandle(kind => {
    const host = document.querySelector(`[data-view="${kind}"]`) as HTMLElement;
    const times: { ranges: number; last: number; at: number }[] = [];
    new MutationObserver(() => {
      const ranges = (host.dataset["seen"] ?? "").split(" ");
      const last = Number(ranges.at(-1)?.split("-")[1]);
      times.push({ ranges: ranges.length, last, at: performance.now() });
    }).observe(host, { attributeFilter: ["data-seen"] });
    return times;
  }, kind);
  return async (ranges, first, last) => {
    const times = await (await recording).jsonValue();
    const at = (step: number): number =>
      times.find(time => time.ranges === ranges && time.last >= step)?.at ?? Number.NaN;
    return [at(first), at(last)];
  };
}

test("HAND-1: another device goes on where the first one is: the same views, no gap, no repeat, no modulator installed anew", async ({
  browser,
  open,
  system,
}) => {
  const first = await open();
  // Views that are not what a page begins with.
  await first.getByTestId("layer").fill("20");
  await first.getByTestId("alarm-globe").click();
  await first.getByTestId("detail-globe").selectOption("2");
  for (let i = 0; i < 2; i++) await first.getByTestId("zoom-in").click();
  await first.getByTestId("colours-viridis").click();
  await first.getByTestId("section-longitude").fill("-75");
  await expect(view(first, "map")).toHaveAttribute("data-layer", "20");
  await expect(view(first, "globe")).toHaveAttribute("data-mode", "alarm");
  await expect.poll(() => drawn(first, "globe", "window")).toContain("-102.5");
  await expect.poll(() => drawn(first, "section", "window")).toContain("-76.25");
  await expect.poll(async () => Number(await drawn(first, "map", "columns"))).toBeLessThan(140);
  await nextStep(first, "map");
  // One for each view, and the globe's from before its alarm, which rests: those of pages that were cut off before go meanwhile.
  const channels = KINDS.length + 1;
  await expect.poll(() => system.derivedChannels()).toBe(channels);
  await first.getByTestId("hand-over").click();
  await expect(first.getByTestId("handover-unreachable")).toContainText("--host");
  const link = await first.getByTestId("handover-link").inputValue();
  expect(link).toMatch(/#handover=[\w-]{20,}$/);
  const validity = first.getByTestId("handover-validity");
  expect(Number(await validity.getAttribute("data-seconds"))).toBeGreaterThan(60);

  const context = await browser.newContext({ viewport: { width: 1000, height: 720 } });
  try {
    const second = await context.newPage();
    await second.goto(link);
    await expect(first.getByTestId("banner")).toContainText("Continued on another device");
    for (const kind of KINDS) {
      await expect(view(second, kind)).toHaveAttribute("data-state", "live");
      await expect(view(first, kind)).toHaveAttribute("data-state", "handed-over");
    }
    // Nobody who looks over the shoulder, and no history, has the token.
    expect(second.url()).toMatch(new RegExp(`^${system.url}(\\?[^#]*)?$`));
    expect(second.url()).not.toContain("handover");
    await nextStep(second, "map");
    for (const kind of KINDS)
      for (const what of ["layer", "window", "rows", "columns", "mode"])
        expect(await drawn(second, kind, what), `${kind}'s ${what}`).toBe(await drawn(first, kind, what));
    await expect(second.getByTestId("colours-viridis")).toBeChecked();
    await expect(second.getByTestId("detail-globe")).toHaveValue("2");
    for (const kind of ["map", "section"]) {
      const last = await lastSeen(first, kind);
      const after = await seen(second, kind);
      expect(after, kind).toHaveLength(1);
      // A step of the map is one event; of the 37 of a section's each device may have had some.
      expect(kind === "map" ? [last + 1] : [last, last + 1], kind).toContain(after[0]?.first);
    }
    // The one that rests need not outlive the first device.
    expect(await system.derivedChannels()).toBeLessThanOrEqual(channels);
    // The views are the second device's to change.
    await second.getByTestId("layer").fill("15");
    await expect(view(second, "map")).toHaveAttribute("data-layer", "15");

    await first.getByTestId("open-anew").click();
    for (const kind of KINDS) await expect(view(first, kind)).toHaveAttribute("data-state", "live");
    await nextStep(first, "map");
    expect(await drawn(first, "map", "layer")).toBe("20");
    await expect(view(second, "map")).toHaveAttribute("data-state", "live");

    const third = await context.newPage();
    await third.goto(link);
    await expect(third.getByTestId("taking-over")).toContainText("HANDOVER_INVALID");
    await third.getByTestId("open-anew").click();
    await expect(view(third, "map")).toHaveAttribute("data-state", "live");
  } finally {
    await context.close();
  }
});

test("HAND-4: of two tabs that share a connection only the one that asked for the link is handed over", async ({
  browser,
  system,
}) => {
  const here = await browser.newContext({ viewport: { width: 1000, height: 720 } });
  const there = await browser.newContext({ viewport: { width: 1000, height: 720 } });
  try {
    const [first, other] = [await here.newPage(), await here.newPage()];
    for (const tab of [first, other]) {
      await tab.goto(system.url);
      await expect(view(tab, "map")).toHaveAttribute("data-seen", /\d/);
    }
    await other.getByTestId("layer").fill("12");
    await expect(view(other, "map")).toHaveAttribute("data-layer", "12");
    await first.bringToFront();
    await first.getByTestId("layer").fill("25");
    await expect(view(first, "map")).toHaveAttribute("data-layer", "25");
    await first.getByTestId("hand-over").click();
    const field = first.getByTestId("handover-link");
    const unused = await field.inputValue();
    await first.getByTestId("handover-renew").click();
    await expect(field).not.toHaveValue(unused);
    const link = await field.inputValue();
    const second = await there.newPage();
    await second.goto(link);
    await expect(view(second, "map")).toHaveAttribute("data-layer", "25");
    for (const kind of KINDS) {
      await expect(view(second, kind)).toHaveCount(1);
      await expect(view(first, kind)).toHaveAttribute("data-state", "handed-over");
    }
    await other.bringToFront();
    for (const kind of KINDS) await expect(view(other, kind)).toHaveAttribute("data-state", "live");
    await nextStep(other, "map");
    expect(await drawn(other, "map", "layer")).toBe("12");
    expect((await seen(other, "map")).length).toBe(1);
    // Its connection lives, but the session that this one was made for does not.
    const third = await there.newPage();
    await third.goto(unused);
    await expect(third.getByTestId("taking-over")).toContainText("HANDOVER_INVALID");
  } finally {
    await here.close();
    await there.close();
  }
});
