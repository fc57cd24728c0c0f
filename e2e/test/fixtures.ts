import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { System } from "../src/system.ts";

export { expect };

/** Tests with the whole system, started once. */
export const test = base.extend<
  { open: (prepare?: (page: Page) => void, search?: string, url?: string) => Promise<Page> },
  { system: System }
>({
  system: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright asks for the pattern
    async ({}, use) => {
      const system = await System.start();
      await use(system);
      await system.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
  /**
   * Opens the page in a browser context of its own, with all its views live; `prepare` has it before it is loaded. Its
   * address ends in `search`, and begins with `url` where there is another way to it.
   */
  open: async ({ browser, system }, use) => {
    const pages: Page[] = [];
    await use(async (prepare, search = "", url = system.url) => {
      const page = await (await browser.newContext({ viewport: { width: 1000, height: 720 } })).newPage();
      pages.push(page);
      prepare?.(page);
      await page.goto(url + search);
      for (const kind of ["map", "globe", "section"]) {
        await expect(view(page, kind)).toHaveAttribute("data-state", "live");
        // Live says that events may come; a step says that one was drawn.
        await expect(view(page, kind)).toHaveAttribute("data-step", /\d/);
      }
      return page;
    });
    for (const page of pages) await page.context().close();
  },
});

/** One of the page's views. */
export function view(page: Page, kind: string): Locator {
  return page.locator(`[data-view="${kind}"]`);
}

/** Attribute of a view on the data that it has drawn. */
export async function drawn(page: Page, kind: string, what: string): Promise<string> {
  return (await view(page, kind).getAttribute(`data-${what}`)) ?? "";
}

/**
 * Notes in the page itself, where nothing is missed, what an element has as an attribute, or as its text, from now on. The
 * returned function resolves to that, in order.
 */
export async function noted(page: Page, selector: string, attribute = ""): Promise<() => Promise<string[]>> {
  const list = await page.evaluateHandle(
    ([selector, attribute]) => {
      const texts: string[] = [];
      const note = (): void => {
        const element = document.querySelector(selector);
        const text = attribute === "" ? element?.textContent : element?.getAttribute(attribute);
        if (text && text !== texts.at(-1)) texts.push(text);
      };
      const what = { attributes: true, characterData: true, childList: true, subtree: true };
      new MutationObserver(note).observe(document.body, what);
      note();
      return texts;
    },
    [selector, attribute] as const,
  );
  return () => list.jsonValue();
}

/**
 * Hides the page from whoever looks at it, or shows it again, as its own document sees that: Playwright keeps every page in
 * front, whatever is opened before it.
 */
export async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate(
    state => {
      Object.defineProperty(document, "visibilityState", { configurable: true, value: state });
      document.dispatchEvent(new Event("visibilitychange"));
    },
    isShown ? "visible" : "hidden",
  );
}

/** The steps whose events a view has had, as ranges without gap or repeat, in their order. */
export async function seen(page: Page, kind: string): Promise<{ first: number; last: number }[]> {
  const ranges = (await drawn(page, kind, "seen")).split(" ");
  return ranges.map(range => {
    const [first, last] = range.split("-").map(Number);
    return { first: first ?? Number.NaN, last: last ?? Number.NaN };
  });
}

export async function lastSeen(page: Page, kind: string): Promise<number> {
  return (await seen(page, kind)).at(-1)?.last ?? Number.NaN;
}

/** Resolves when the view has drawn a later step than it had. */
export async function nextStep(page: Page, kind: string): Promise<void> {
  const before = Number(await drawn(page, kind, "step"));
  await expect.poll(async () => Number(await drawn(page, kind, "step"))).toBeGreaterThan(before);
}
