import type { Browser, Page } from "@playwright/test";
import { drawn, expect, nextStep, test, view } from "./fixtures.ts";

const UPRIGHT = { width: 390, height: 844 };
const ON_ITS_SIDE = { width: 844, height: 390 };

async function openPhone(browser: Browser, url: string, viewport: typeof UPRIGHT): Promise<Page> {
  const page = await (await browser.newContext({ viewport, hasTouch: true, isMobile: true })).newPage();
  await page.goto(url);
  await expect(view(page, "map")).toHaveAttribute("data-step", /\d/);
  return page;
}

/** Targets that are smaller than a finger, or reach beyond the page. */
function small(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const targets = document.querySelectorAll(
      "a, button, select, summary, label:has(input), input:not([type=radio], [type=checkbox])",
    );
    return [...targets].flatMap(target => {
      const { width, height, right } = target.getBoundingClientRect();
      const isSeen = width > 0 && height > 0;
      const isSmall = Math.min(width, height) < 43.5 || right > innerWidth + 0.5;
      return isSeen && isSmall ? [`${target.outerHTML.slice(0, 120)} ${width} x ${height} to ${right}`] : [];
    });
  });
}

for (const [name, viewport] of [
  ["upright", UPRIGHT],
  ["on its side", ON_ITS_SIDE],
] as const)
  test(`a phone ${name}: everything is large enough for a finger, and the layer is in reach of the map`, async ({
    browser,
    system,
  }) => {
    const page = await openPhone(browser, system.url, viewport);
    expect(await small(page)).toEqual([]);
    await expect(page.getByTestId("hand-over")).toHaveText("Continue elsewhere");
    // The map and the layer's control are seen together, wherever the page is scrolled.
    for (const kind of ["map", "section"]) {
      await page.getByTestId(`surface-${kind}`).scrollIntoViewIfNeeded();
      await expect(page.getByTestId("layer")).toBeInViewport({ ratio: 1 });
    }
    const layer = await drawn(page, "map", "layer");
    await page.getByRole("button", { name: "Lower layer" }).tap();
    await expect(view(page, "map")).toHaveAttribute("data-layer", String(Number(layer) - 1));
    // A view's picture, its scale and its tools fit above that control, all at once.
    if (name === "on its side") {
      await page.evaluate(() => scrollTo(0, 0));
      const [picture, scale, replay, dock] = await Promise.all(
        [
          page.getByTestId("surface-map"),
          page.getByTestId("set-scale-map"),
          page.getByTestId("replay-map"),
          page.locator(".layer"),
        ].map(each => each.boundingBox()),
      );
      const top = dock?.y ?? 0;
      for (const box of [picture, scale, replay])
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(top + 1);
      expect((picture?.height ?? 0) / viewport.height).toBeGreaterThan(0.7);
    }
    await page.context().close();
  });

test("a finger is told the value where it touches, and goes on being told it after each step", async ({
  browser,
  system,
}) => {
  const page = await openPhone(browser, system.url, UPRIGHT);
  const readout = page.getByTestId("readout-map");
  await expect(readout).toBeEmpty();
  await page.getByTestId("surface-map").tap({ position: { x: 180, y: 90 } });
  await expect(readout).toHaveText(/^\d+\.\d° [NS] {2}\d+\.\d° [EW] {2}[\d.]+ ppmv$/);
  await nextStep(page, "map");
  await expect(readout).toHaveText(/ppmv$/);
  await page.getByTestId("surface-section").tap({ position: { x: 180, y: 90 } });
  await expect(page.getByTestId("readout-section")).toHaveText(/hPa .* km .*ppmv$/);
  await page.context().close();
});

test("a number may have the comma that a phone's keyboard offers in place of the point", async ({
  browser,
  system,
}) => {
  const page = await openPhone(browser, system.url, UPRIGHT);
  await page.getByTestId("set-scale-map").tap();
  await page.getByTestId("scale-low-map").fill("2,5");
  await page.getByTestId("scale-high-map").fill("7,25");
  await page.getByRole("button", { name: "Set", exact: true }).tap();
  await expect(page.getByTestId("scale-map")).toHaveAttribute("data-low", "2.5");
  await expect(page.getByTestId("scale-map")).toHaveAttribute("data-high", "7.25");
  await page.getByTestId("alarm-map").tap();
  await page.getByTestId("threshold-map").fill("0,25");
  await page.getByTestId("threshold-map").press("Enter");
  await expect.poll(() => page.url()).toContain("alarm0.25");
  await page.getByTestId("amount").fill("0,5");
  await expect(page.getByTestId("amount")).toHaveAttribute("aria-invalid", "false");
  // Either a thousand or one.
  await page.getByTestId("amount").fill("1,000");
  await expect(page.getByTestId("amount")).toHaveAttribute("aria-invalid", "true");
  await page.context().close();
});

test("what is said in a picture stays in it on a small phone, and a value is seen whole", async ({
  browser,
  system,
}) => {
  const page = await openPhone(browser, system.url, { width: 320, height: 568 });
  for (const kind of ["map", "section"]) {
    const surface = page.getByTestId(`surface-${kind}`);
    await expect(page.getByTestId(`caption-${kind}`)).not.toBeEmpty();
    await surface.tap({ position: { x: 150, y: 90 } });
    const readout = page.getByTestId(`readout-${kind}`);
    await expect(readout).toHaveText(/ppmv$/);
    const { right } = await surface.evaluate(element => element.getBoundingClientRect());
    for (const words of [page.getByTestId(`caption-${kind}`), readout])
      expect(await words.evaluate(element => element.getBoundingClientRect().right)).toBeLessThanOrEqual(
        right,
      );
    expect(await readout.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0);
  }
  await page.context().close();
});
