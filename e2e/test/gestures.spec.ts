import { drawn, expect, nextStep, test, view } from "./fixtures.ts";

test("a drag goes on from where the finger is when the window has turned under it", async ({ open }) => {
  const page = await open();
  const surface = page.getByTestId("surface-map");
  await surface.hover();
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -400);
  await expect.poll(async () => Number(await drawn(page, "map", "columns"))).toBeLessThan(80);
  await nextStep(page, "map");
  const before = await drawn(page, "map", "window");
  const box = await surface.boundingBox();
  if (box === null) throw new Error("the map is not to be seen");
  const [left, right, y] = [box.x + box.width * 0.2, box.x + box.width * 0.7, box.y + box.height / 2];
  await page.mouse.move(right, y);
  await page.mouse.down();
  // A window that turns has another place under the same finger: that is no way that it has gone.
  await page.evaluate(() => void window.dispatchEvent(new Event("resize")));
  await page.mouse.move(left, y);
  await page.mouse.move(right, y, { steps: 4 });
  await page.mouse.up();
  for (let i = 0; i < 2; i++) await nextStep(page, "map");
  expect(await drawn(page, "map", "window")).not.toBe(before);
});

test("two fingers bring the map nearer, about the place between them", async ({ open }) => {
  const page = await open();
  const box = await page.getByTestId("surface-map").boundingBox();
  if (box === null) throw new Error("the map is not to be seen");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const cdp = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", apart: number): Promise<unknown> =>
    cdp.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: type === "touchEnd" ? [] : [-1, 1].map((side, id) => ({ x: x + side * apart, y, id })),
    });
  const columns = async (): Promise<number> => Number(await drawn(page, "map", "columns"));
  expect(await columns()).toBe(144);
  await touch("touchStart", 20);
  for (let apart = 30; apart <= 120; apart += 10) await touch("touchMove", apart);
  await touch("touchEnd", 0);
  await expect.poll(columns).toBeLessThan(60);
  // The page itself is not zoomed.
  expect(await page.evaluate(() => window.visualViewport?.scale)).toBe(1);
});

test("one finger on the map of the whole earth scrolls the page up and down; where the map is nearer, it moves the map", async ({
  browser,
  system,
}) => {
  const context = await browser.newContext({
    viewport: { width: 390, height: 700 },
    hasTouch: true,
    isMobile: true,
  });
  const page = await context.newPage();
  await page.goto(system.url);
  await expect(view(page, "map")).toHaveAttribute("data-window", /,/);
  const cdp = await context.newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...places: { x: number; y: number }[]) =>
    cdp.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: places.map((place, id) => ({ ...place, id })),
    });
  const middle = async (): Promise<{ x: number; y: number }> => {
    const box = await page.getByTestId("surface-map").boundingBox();
    if (box === null) throw new Error("the map is not to be seen");
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  };
  const scrolled = (): Promise<number> => page.evaluate(() => window.scrollY);
  const swipeUp = async (): Promise<void> => {
    const { x, y } = await middle();
    await touch("touchStart", { x, y });
    for (let up = 10; up <= 60; up += 10) await touch("touchMove", { x, y: y - up });
    await touch("touchEnd");
  };
  // Chromium lets nobody keep a touch that begins while the page still glides: it only stops that.
  await page.evaluate(() => {
    window.addEventListener("scrollend", () => document.body.setAttribute("data-lies-still", ""), {
      once: true,
    });
  });
  await swipeUp();
  await expect(page.locator("body")).toHaveAttribute("data-lies-still");
  expect(await scrolled()).toBeGreaterThan(20);
  expect(await drawn(page, "map", "columns")).toBe("144");

  // Two fingers bring it nearer whichever way they go apart.
  await page.getByTestId("surface-map").scrollIntoViewIfNeeded();
  const { x, y } = await middle();
  await touch("touchStart", { x, y: y - 15 }, { x, y: y + 15 });
  for (let apart = 20; apart <= 75; apart += 5)
    await touch("touchMove", { x, y: y - apart }, { x, y: y + apart });
  await touch("touchEnd");
  await expect.poll(async () => Number(await drawn(page, "map", "columns"))).toBeLessThan(100);
  await nextStep(page, "map");
  const [lay, shown] = [await scrolled(), await drawn(page, "map", "window")];
  await swipeUp();
  await expect.poll(() => drawn(page, "map", "window")).not.toBe(shown);
  expect(await scrolled()).toBe(lay);
  await context.close();
});
