import type { Page } from "@playwright/test";
import { drawn, expect, nextStep, test, view } from "./fixtures.ts";

test("the page shows three live views, each with its own data, and what each costs", async ({ open }) => {
  const page = await open();
  for (const kind of ["map", "globe", "section"]) {
    await nextStep(page, kind);
    expect(Number(await drawn(page, kind, "bytes"))).toBeGreaterThan(0);
    await expect(page.getByTestId(`gauge-${kind}`)).toContainText("%");
    await expect(page.getByTestId(`gauge-${kind}`)).toHaveAttribute("data-placements", "producer");
  }
  expect(await drawn(page, "section", "layer")).toBe("0-36");
  expect(await drawn(page, "section", "columns")).toBe("1");
  expect(Number(await drawn(page, "map", "columns"))).toBe(144);
});

test("two pages with different views get different data", async ({ open }) => {
  const [first, second] = [await open(), await open()];
  await second.getByTestId("layer").fill("20");
  await expect(view(second, "map")).toHaveAttribute("data-layer", "20");
  await nextStep(first, "map");
  expect(await drawn(first, "map", "layer")).not.toBe("20");
  for (let i = 0; i < 3; i++) await second.getByTestId("zoom-in").click();
  await expect.poll(async () => Number(await drawn(second, "map", "columns"))).toBeLessThan(100);
  await nextStep(first, "map");
  expect(await drawn(first, "map", "columns")).toBe("144");
});

test("panning and zooming change what arrives", async ({ open }) => {
  const page = await open();
  const surface = page.getByTestId("surface-map");
  await surface.hover();
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -400);
  await expect.poll(async () => Number(await drawn(page, "map", "columns"))).toBeLessThan(80);
  const before = await drawn(page, "map", "window");
  const box = await surface.boundingBox();
  if (box === null) throw new Error("the map is not to be seen");
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.2, box.y + box.height / 2, { steps: 8 });
  await page.mouse.up();
  await expect.poll(() => drawn(page, "map", "window")).not.toBe(before);
  await nextStep(page, "map");
  const cells = Number(await drawn(page, "map", "rows")) * Number(await drawn(page, "map", "columns"));
  // Both as they were drawn together.
  const reading = (): Promise<{ bytes: number; step: number }> =>
    view(page, "map").evaluate(({ dataset: { bytes, step } }) => ({
      bytes: Number(bytes),
      step: Number(step),
    }));
  const first = await reading();
  await nextStep(page, "map");
  await nextStep(page, "map");
  const after = await reading();
  const perStep = (after.bytes - first.bytes) / (after.step - first.step);
  // What crosses the wire is what is looked at: four bytes a cell and a frame around them.
  expect(perStep).toBeLessThan(2 * (4 * cells + 400));
});

test("the alarm sends only what changed", async ({ open }) => {
  const page = await open();
  const rate = async (): Promise<number> => {
    const [bytes, step] = [
      Number(await drawn(page, "map", "bytes")),
      Number(await page.getByTestId("model-step").innerText()),
    ];
    await expect
      .poll(async () => Number(await page.getByTestId("model-step").innerText()))
      .toBeGreaterThan(step + 7);
    const steps = Number(await page.getByTestId("model-step").innerText()) - step;
    return (Number(await drawn(page, "map", "bytes")) - bytes) / steps;
  };
  await nextStep(page, "map");
  const whole = await rate();
  await page.getByTestId("alarm-map").click();
  await expect(view(page, "map")).toHaveAttribute("data-mode", "alarm");
  await page.getByTestId("threshold-map").fill("0.5");
  await page.getByTestId("threshold-map").press("Enter");
  await expect(view(page, "map")).toHaveAttribute("data-state", "live");
  await expect.poll(rate).toBeLessThan(whole / 4);
  await page.getByTestId("filter-map").click();
  await expect(view(page, "map")).toHaveAttribute("data-mode", "filter");
  await nextStep(page, "map");
});

test("a view that is changed while its alarm is being raised is the alarm's view, too", async ({ open }) => {
  const page = await open();
  await nextStep(page, "map");
  const before = Number(await drawn(page, "map", "columns"));
  // In the page itself, in one task: the alarm's modulator is not installed before the view is another one.
  await page.evaluate(() => {
    for (const id of ["alarm-map", "zoom-in"])
      document.querySelector<HTMLElement>(`[data-testid="${id}"]`)?.click();
  });
  await expect(view(page, "map")).toHaveAttribute("data-mode", "alarm");
  await expect.poll(async () => Number(await drawn(page, "map", "columns"))).toBeLessThan(before);
});

test("what is steered in one page shows in the other", async ({ open }) => {
  const [first, second] = [await open(), await open()];
  await first.getByTestId("pause").click();
  await expect(second.getByTestId("pause")).toHaveAttribute("data-paused", "true");
  await expect(second.getByTestId("page")).toHaveAttribute("data-state", "paused");
  await second.getByTestId("pause").click();
  await expect(first.getByTestId("pause")).toHaveAttribute("data-paused", "false");
  await first.getByTestId("month").selectOption({ label: "Set mid July" });
  await expect(second.getByTestId("notice")).toContainText("July");
  await expect(second.getByTestId("notice")).not.toContainText("Cannot");
});

/** Notes from now on, whenever a frame has been shown, what the page and its map say of themselves, at the same moment. */
async function notedTogether(page: Page): Promise<() => Promise<[string, string][]>> {
  const list = await page.evaluateHandle(() => {
    const pairs: [string, string][] = [];
    const note = (): void => {
      const [head, map] = ['[data-testid="page"]', '[data-view="map"]'].map(
        selector => document.querySelector<HTMLElement>(selector)?.dataset["state"] ?? "",
      ) as [string, string];
      if (pairs.at(-1)?.join() !== `${head},${map}`) pairs.push([head, map]);
      requestAnimationFrame(() => setTimeout(note));
    };
    note();
    return pairs;
  });
  return () => list.jsonValue();
}

test("a gateway that is killed and started again finds both pages live again by themselves", async ({
  open,
  system,
}) => {
  const [first, second] = [await open(), await open()];
  await second.getByTestId("layer").fill("12");
  await expect(view(second, "map")).toHaveAttribute("data-layer", "12");
  await first.setViewportSize({ width: 1440, height: 900 });
  const surfaces = first.locator(".surface");
  const places = () =>
    surfaces.evaluateAll(all => all.map(each => JSON.stringify(each.getBoundingClientRect())));
  const before = await places();
  const states = await notedTogether(first);
  await system.killGateway();
  for (const page of [first, second])
    await expect(view(page, "map")).toHaveAttribute("data-state", "reconnecting");
  // Whatever is said of it, no picture jumps.
  await expect(first.getByTestId("page-state")).toContainText("reconnecting since");
  await expect(first.getByTestId("banner")).toBeVisible();
  // It comes from that gateway, which lets it in.
  await expect(first.getByTestId("banner")).toContainText(
    /no connection to a gateway at \S+ could be made\.$/,
  );
  await expect.poll(places).toEqual(before);
  // At no moment did the page say that it was live while a view said that it was not.
  expect((await states()).filter(([page, map]) => page === "live" && map !== "live")).toEqual([]);
  await system.restartGateway();
  for (const page of [first, second]) {
    for (const kind of ["map", "globe", "section"])
      await expect(view(page, kind)).toHaveAttribute("data-state", "live");
    await nextStep(page, "map");
  }
  expect(await drawn(second, "map", "layer")).toBe("12");
});
