import { Dice } from "@jecho/e2e/dice";
import { Few } from "@jecho/shared/internal";
import { expect, test } from "vitest";

test("Few is a map, whatever is put in and taken out (seeded)", () => {
  const dice = new Dice(5);
  for (let round = 0; round < 500; round++) {
    const few = new Few<string, number>();
    const map = new Map<string, number>();
    const keys = 1 + dice.below(3);
    for (let step = 0; step < 12; step++) {
      const key = `key ${dice.below(keys)}`;
      const act = dice.below(8);
      if (act === 0) {
        few.clear();
        map.clear();
      } else if (act < 4) expect(few.delete(key)).toBe(map.delete(key));
      else {
        few.set(key, step);
        map.set(key, step);
      }
      expect([...few]).toEqual([...map]);
      expect([...few.keys()]).toEqual([...map.keys()]);
      expect([...few.values()]).toEqual([...map.values()]);
      expect([few.size, few.get(key), few.has(key)]).toEqual([map.size, map.get(key), map.has(key)]);
    }
  }
});
