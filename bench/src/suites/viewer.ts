import { setTimeout as delay } from "node:timers/promises";
import type { launchChromium } from "@jecho/e2e/browser";
import { startAtmosphere } from "../atmosphere.ts";
import type { Process } from "../processes.ts";
import type { Context, Suite } from "../suite.ts";

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;

/** Work of a page with so many views for some seconds, by its own instruments. */
interface Look {
  readonly mainThreadMs: number;
  readonly scriptMs: number;
  readonly drawn: number;
  readonly seconds: number;
}

const COUNTS = [1, 4, 16];
const STEPS_PER_SECOND = 5;
const SIZE = { width: 1280, height: 960 };
/** As many steps as the simulation does in ten minutes at its usual 2 per second. */
const TEN_MINUTES_STEPS = 1200;
const HEAP_STEPS_PER_SECOND = 20;
const READY_TIMEOUT_MS = 60_000;
/** Fewer, and chance would have drawn them. */
const LEAST_STEPS = 4;
const MOST_MS = 40_000;

/** Cost of the page to the browser that shows it. */
export const viewer: Suite = {
  name: "viewer",
  about: "the sample application's page in Chromium: main thread for each event drawn, frames, heap",
  async run(context: Context) {
    const browser = await chromium(context);
    if (browser === undefined) return;
    try {
      await drawing(context, browser);
      await heap(context, browser);
    } finally {
      await browser.close();
    }
  },
};

async function chromium({ report }: Context): Promise<Browser | undefined> {
  try {
    // Playwright takes a second to load, which the other suites need not wait for.
    const { launchChromium: launch } = await import("@jecho/e2e/browser");
    return await launch();
  } catch (error) {
    report.note(`not measured: ${(error as Error).message.split("\n")[0]}`);
    return undefined;
  }
}

async function drawing({ report, quick }: Context, browser: Browser): Promise<void> {
  const rounds = quick ? 1 : 2;
  const ms = quick ? 2000 : 3000;
  const processes: Process[] = [];
  const looks = new Map(COUNTS.map(count => [count, { looks: [] as Look[], fps: [] as number[] }]));
  try {
    const { url } = await startAtmosphere(STEPS_PER_SECOND, processes);
    for (let round = 0; round < rounds; round++)
      for (const [count, its] of looks) {
        const page = await open(browser, `${url}?views=${Array(count).fill("map")}`, count);
        its.looks.push(await lookAt(page, count, ms));
        its.fps.push(await framesPerSecond(page, ms / 2));
        await page.context().close();
      }
  } finally {
    await Promise.all(processes.map(process => process.stop()));
  }
  report.note(`at ${STEPS_PER_SECOND} steps/s; ${SIZE.width} x ${SIZE.height} pixels shared by all views`);
  const per = (look: Look, ms: number): number => ms / look.drawn;
  for (const [count, its] of looks) {
    report.metric(
      `viewer.main_thread_${count}`,
      its.looks.map(look => per(look, look.mainThreadMs)),
      "ms/event drawn",
    );
    report.metric(
      `viewer.script_${count}`,
      its.looks.map(look => per(look, look.scriptMs)),
      "ms/event drawn",
    );
    report.metric(
      `viewer.drawn_${count}`,
      its.looks.map(({ drawn, seconds }) => drawn / seconds),
      "events/s",
    );
    report.metric(`viewer.fps_${count}`, its.fps, "frames/s");
  }
}

/** Bytes that stay behind after garbage collection, over as many steps as ten minutes have. */
async function heap({ report, quick }: Context, browser: Browser): Promise<void> {
  const limitMs = quick ? 10_000 : 120_000;
  const processes: Process[] = [];
  try {
    const { url } = await startAtmosphere(HEAP_STEPS_PER_SECOND, processes);
    const page = await open(browser, url, 3);
    // What is set up once has been set up then.
    await delay(limitMs / 10);
    const [before, firstStep, start] = [await heapBytes(page), await stepOf(page), performance.now()];
    const wanted = firstStep + TEN_MINUTES_STEPS;
    while (performance.now() - start < limitMs && (await stepOf(page)) < wanted) await delay(500);
    const [after, lastStep] = [await heapBytes(page), await stepOf(page)];
    report.metric("viewer.heap", before / 2 ** 20, "MB");
    report.metric("viewer.heap_growth", (after - before) / 2 ** 20, "MB");
    report.note(
      `the heap was watched for ${lastStep - firstStep} steps in ${Math.round((performance.now() - start) / 1000)} s, with three views; ten minutes have ${TEN_MINUTES_STEPS}`,
    );
    await page.context().close();
  } finally {
    await Promise.all(processes.map(process => process.stop()));
  }
}

/** A page in a context of its own, when each of its views has drawn something. */
async function open(browser: Browser, url: string, views: number): Promise<Page> {
  const page = await (await browser.newContext({ viewport: SIZE })).newPage();
  await page.goto(url);
  await page.waitForFunction(
    count => document.querySelectorAll("[data-view][data-step]").length === count,
    views,
    { timeout: READY_TIMEOUT_MS },
  );
  return page;
}

async function lookAt(page: Page, views: number, ms: number): Promise<Look> {
  const devtools = await page.context().newCDPSession(page);
  // The processor's time of the main thread, not the clock's.
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async (): Promise<Map<string, number>> => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return new Map(metrics.map(({ name, value }) => [name, value]));
  };
  await page.evaluate(() => {
    const counts = { drawn: 0 };
    Object.assign(globalThis, { counts });
    // A view notes the step that it has drawn, each time that it draws.
    new MutationObserver(changes => {
      for (const { target, oldValue } of changes)
        if ((target as HTMLElement).dataset["step"] !== oldValue) counts.drawn++;
    }).observe(document.body, { subtree: true, attributeFilter: ["data-step"], attributeOldValue: true });
  });
  const drawnEvents = (): Promise<number> =>
    page.evaluate(() => (globalThis as unknown as { counts: { drawn: number } }).counts.drawn);
  const [before, first, start] = [await metrics(), await drawnEvents(), performance.now()];
  let drawn = 0;
  let seconds = 0;
  while (seconds * 1000 < ms || drawn < LEAST_STEPS * views) {
    if (seconds * 1000 > MOST_MS) throw new Error(`the page drew ${drawn} events in ${MOST_MS} ms`);
    await delay(ms / 4);
    drawn = (await drawnEvents()) - first;
    seconds = (performance.now() - start) / 1000;
  }
  const after = await metrics();
  const spent = (name: string): number => 1000 * ((after.get(name) ?? 0) - (before.get(name) ?? 0));
  return { mainThreadMs: spent("TaskDuration"), scriptMs: spent("ScriptDuration"), drawn, seconds };
}

function framesPerSecond(page: Page, ms: number): Promise<number> {
  return page.evaluate(
    ms =>
      new Promise<number>(resolve => {
        let frames = 0;
        const start = performance.now();
        const frame = (): void => {
          const passed = performance.now() - start;
          if (passed >= ms) return resolve((1000 * frames) / passed);
          frames++;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      }),
    ms,
  );
}

async function stepOf(page: Page): Promise<number> {
  return Number(await page.locator("[data-view]").first().getAttribute("data-step"));
}

/** Bytes of script's heap, and of the buffers that it holds. */
async function heapBytes(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.enable");
  // A second time, for what only the first could let go of.
  for (let i = 0; i < 2; i++) await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize, ...rest } = (await devtools.send("Runtime.getHeapUsage")) as {
    usedSize: number;
    backingStorageSize?: number;
  };
  await devtools.detach();
  return usedSize + (rest.backingStorageSize ?? 0);
}
