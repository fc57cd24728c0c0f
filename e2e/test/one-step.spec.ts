import type { Page } from "@playwright/test";
import { type ViewUpdate, Wire } from "../src/wire.ts";
import { drawn, expect, nextStep, test } from "./fixtures.ts";

// A trace films the page: more drawing than all of the page's own.
test.use({ trace: "off" });

/** The connection is the page's own, for that of a SharedWorker cannot be listened to. */
const PLACE = "?place=here";

/*
 * The simulation runs at its usual two steps a second, and a change is made as soon as the last one is to be seen. One step
 * is counted strictly, from the click to the picture and from the update's sending to the first event, so it includes the
 * way there, the way back and the drawing in software. A machine whose processors are busy with something else may be late
 * with any of these for as long as a step, which says nothing of JEcho: five changes in a row must hold, from whenever the
 * machine can. That each step comes once, and no older view after the new one, must hold for every change at any load.
 */
test("OBJ-5: a changed view takes effect within one simulation step", async ({ open }) => {
  test.setTimeout(900_000);
  const wires: Wire[] = [];
  const page = await open(opened => wires.push(new Wire(opened)), PLACE);
  const wire = wires[0] as Wire;
  await expect(page.getByTestId("speed")).toHaveAttribute("data-speed", "2");
  await nextStep(page, "map");
  const first = Number(await drawn(page, "map", "layer"));
  for (let change = 0, inARow = 0; inARow < 5; change++) {
    const isLower = change % 2 === 0;
    const layer = isLower ? first - 1 : first;
    const before = wire.updates.length;
    const seen = await changeLayer(page, isLower ? "Lower layer" : "Higher layer", layer);
    const sent = (): ViewUpdate[] => wire.updates.slice(before);
    // The map's and the globe's.
    await expect.poll(() => sent().filter(({ events }) => events.some(({ isNew }) => isNew)).length).toBe(2);
    for (const update of sent()) expectCleanChange(update, layer);
    const isOneStep = seen.first <= seen.atClick + 1 && sent().every(tookOneStep);
    inARow = isOneStep ? inARow + 1 : 0;
  }
});

/** Up to some step all events are of the old view, and from the next on of the new one. */
function expectCleanChange({ state, arrived, events }: ViewUpdate, layer: number): void {
  const what = JSON.stringify({ state, arrived, events });
  expect([state.firstLayer, state.lastLayer], what).toEqual([layer, layer]);
  for (const [i, event] of events.entries()) {
    const before = events[i - 1];
    expect(event.layer === layer, what).toBe(event.isNew);
    expect(before?.isNew === true && !event.isNew, what).toBe(false);
    if (before !== undefined) expect(event.step, what).toBeGreaterThan(before.step);
  }
}

/** The first event of the new view is at most one step after what had come in when the update went out. */
function tookOneStep({ arrived, events }: ViewUpdate): boolean {
  const first = events.find(({ isNew }) => isNew);
  return first !== undefined && first.step <= arrived + 1;
}

/**
 * Clicks and waits for the map's picture of the new layer, all in the page itself, where no picture is missed. Resolves to
 * the steps of the map's picture at the click and of the new layer's first.
 */
async function changeLayer(
  page: Page,
  button: string,
  layer: number,
): Promise<{ atClick: number; first: number }> {
  return page.evaluate(
    async ({ button, layer }) => {
      const map = document.querySelector('[data-view="map"]') as HTMLElement;
      const shown = new Promise<number>(resolve => {
        const observer = new MutationObserver(() => {
          if (Number(map.dataset["layer"]) !== layer) return;
          observer.disconnect();
          resolve(Number(map.dataset["step"]));
        });
        observer.observe(map, { attributeFilter: ["data-layer"] });
      });
      const atClick = Number(map.dataset["step"]);
      (document.querySelector(`[aria-label="${button}"]`) as HTMLElement).click();
      return { atClick, first: await shown };
    },
    { button, layer },
  );
}
