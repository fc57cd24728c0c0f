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

/** What a view says of the data that it has drawn. */
export async function drawn(page: Page, kind: string, what: string): Promise<string> {
  return (await view(page, kind).getAttribute(`data-${what}`)) ?? "";
}

/** Resolves when the view has drawn a later step than it had. */
export async function nextStep(page: Page, kind: string): Promise<void> {
  const before = Number(await drawn(page, kind, "step"));
  await expect.poll(async () => Number(await drawn(page, kind, "step"))).toBeGreaterThan(before);
}
