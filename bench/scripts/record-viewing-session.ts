// Records `data/viewing-session.json`: five minutes of the sample application's own page in Chromium, moved by mouse and keys
// after a script of chance (seeded), as a person would who looks around. What is kept is what the page sent to its modulators; `--seconds` is short for a trial.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { View } from "@jecho/client";
import { launchChromium } from "@jecho/e2e/browser";
import { EventsFrame, parseMessage } from "@jecho/shared/internal";
import { startAtmosphere } from "../src/atmosphere.ts";
import type { Process } from "../src/processes.ts";
import { RECORDING, type ViewingChange, type ViewingSession } from "../src/viewing-session.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    out: { type: "string", default: RECORDING },
  },
});
const durationMs = 1000 * Number(values.seconds);
/** Steps of the simulation, whose events are not recorded; the fewer it sends, the less is to be drawn meanwhile. */
const STEPS_PER_SECOND = 0.2;
/** Between two moves of the mouse. */
const MOVE_MS = 33;
const ABOUT =
  "Sent by the atmosphere's own page in Chromium (1280 x 800, three views, model of 2.5 degrees), which a seeded script moved with mouse and keys: " +
  "drags, wheel zooms, layers, longitudes of the section, alarm mode, and pauses of 1 to 6 seconds to look. Times are the script's: after each of its " +
  "inputs it waited until the page had drawn, however long that took on the machine.";

let state = 1_000_003 * Number(values.seed);
/** A number of [least, most): Park and Miller's generator. */
function chance(least: number, most: number): number {
  state = (state * 48_271) % 2_147_483_647;
  return least + ((most - least) * state) / 2_147_483_647;
}

const processes: Process[] = [];
const { url } = await startAtmosphere(STEPS_PER_SECOND, processes);
const browser = await launchChromium();
try {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    // Few pixels to draw in software; what a view asks for is reckoned in CSS pixels.
    deviceScaleFactor: 0.25,
  });
  const page = await context.newPage();
  const changes: ViewingChange[] = [];
  const views: string[] = [];
  const states = new Map<string, View>();
  let nowMs = 0;
  page.on("websocket", socket =>
    socket.on("framesent", ({ payload }) => {
      const bytes = new Uint8Array(payload as Buffer);
      parseMessage(bytes, frame => {
        if (frame instanceof EventsFrame) return;
        const atMs = Math.round(nowMs);
        if (frame.kind === "OpenConsumer" && frame.modulator !== undefined) {
          const [shared] = frame.modulator.objects;
          if (shared === undefined) return;
          if (!views.includes(shared.object)) views.push(shared.object);
          const opens = JSON.parse(shared.state) as View;
          states.set(shared.object, opens);
          const { threshold } = (JSON.parse(frame.modulator.parameters) ?? {}) as { threshold?: number };
          const view = views.indexOf(shared.object);
          changes.push({ atMs, view, ...(threshold === undefined ? {} : { threshold }), opens });
        } else if (frame.kind === "ObjectUpdate" && states.has(frame.object)) {
          const before = states.get(frame.object) as View;
          const now = JSON.parse(frame.state) as View;
          states.set(frame.object, now);
          const different = Object.entries(now).filter(
            ([name, value]) => before[name as keyof View] !== value,
          );
          changes.push({ atMs, view: views.indexOf(frame.object), changes: Object.fromEntries(different) });
        }
      });
    }),
  );
  await page.goto(url);
  await page.locator('[data-view="section"][data-step]').waitFor();

  /** The page has drawn, and what it then asked for has gone out; afterwards it is so much later. */
  const pass = async (ms: number): Promise<void> => {
    await page.evaluate(async () => {
      for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    });
    nowMs += ms;
  };
  const middleOf = async (name: string): Promise<{ x: number; y: number; width: number; height: number }> => {
    const box = await page.getByTestId(`surface-${name}`).boundingBox();
    if (box === null) throw new Error(`${name} is not to be seen`);
    return { ...box, x: box.x + box.width / 2, y: box.y + box.height / 2 };
  };
  const drag = async (name: string): Promise<void> => {
    const { x, y, width, height } = await middleOf(name);
    const [dx, dy] = [chance(-0.35, 0.35) * width, chance(-0.3, 0.3) * height];
    await page.mouse.move(x - dx / 2, y - dy / 2);
    await page.mouse.down();
    const steps = Math.round(chance(8, 30));
    for (let i = 1; i <= steps; i++) {
      await page.mouse.move(x + dx * (i / steps - 0.5), y + dy * (i / steps - 0.5));
      await pass(MOVE_MS);
    }
    await page.mouse.up();
  };
  const zoom = async (name: string): Promise<void> => {
    const { x, y, width, height } = await middleOf(name);
    await page.mouse.move(x + chance(-0.3, 0.3) * width, y + chance(-0.3, 0.3) * height);
    const direction = chance(0, 1) < 0.6 ? -1 : 1;
    const turns = Math.round(chance(2, 8));
    for (let i = 0; i < turns; i++) {
      await page.mouse.wheel(0, direction * 120);
      await pass(chance(40, 120));
    }
  };
  const press = async (name: string, key: string, most: number): Promise<void> => {
    await page.getByTestId(`surface-${name}`).focus();
    const times = Math.round(chance(1, most));
    for (let i = 0; i < times; i++) {
      await page.keyboard.press(key);
      await pass(chance(120, 400));
    }
  };
  const alarm = async (name: string): Promise<void> => {
    await page.getByTestId(`alarm-${name}`).click();
    await pass(chance(15_000, 30_000));
    await page.getByTestId(`filter-${name}`).click();
    await pass(MOVE_MS);
  };
  const actions: readonly (readonly [weight: number, act: () => Promise<void>])[] = [
    [6, () => drag("map")],
    [5, () => zoom("map")],
    [3, () => drag("globe")],
    [2, () => zoom("globe")],
    [3, () => press("map", chance(0, 1) < 0.5 ? "PageUp" : "PageDown", 4)],
    [3, () => press("section", chance(0, 1) < 0.5 ? "ArrowLeft" : "ArrowRight", 6)],
    [1, () => press("map", "0", 1)],
    [1, () => alarm("map")],
    [1, () => alarm("section")],
  ];
  const bag = actions.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));
  while (nowMs < durationMs) {
    await bag[Math.floor(chance(0, bag.length))]?.();
    await pass(chance(1000, 6000));
  }
  const session: ViewingSession = {
    about: ABOUT,
    durationMs,
    changes: changes.filter(({ atMs }) => atMs < durationMs),
  };
  const lines = session.changes.map(change => `    ${JSON.stringify(change)}`).join(",\n");
  const head = JSON.stringify({ about: session.about, durationMs }, null, 2).slice(0, -2);
  writeFileSync(values.out, `${head},\n  "changes": [\n${lines}\n  ]\n}\n`);
  console.log(`${session.changes.length} changes of ${views.length} views in ${durationMs / 1000} s`);
} finally {
  await browser.close();
  await Promise.all(processes.map(process => process.stop()));
}
process.exit(0);
