import { expect, test } from "vitest";
import { ByEvent } from "../src/by-event.ts";

test("ByEvent is a map by three numbers, whatever is put in and taken out (seeded)", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let round = 0; round < 500; round++) {
    const things = new ByEvent<{ readonly step: number }>();
    const map = new Map<string, { readonly step: number }>();
    const most = 1 + random(3);
    for (let step = 0; step < 20; step++) {
      const event = [random(most), random(most), random(most)] as const;
      const key = event.join();
      const act = random(10);
      if (act === 0) {
        things.clear();
        map.clear();
      } else if (act < 5) expect(things.delete(...event)).toBe(map.delete(key));
      else {
        things.set(...event, { step });
        map.set(key, { step });
      }
      expect(things.get(...event)).toEqual(map.get(key));
      const entries = [...things.entries()].map(([channel, producer, raised, thing]) => [
        [channel, producer, raised].join(),
        thing,
      ]);
      expect(new Map(entries as [string, { readonly step: number }][])).toEqual(map);
      expect(entries).toHaveLength(map.size);
    }
  }
});
