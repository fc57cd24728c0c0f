import { NumberTable } from "@jecho/shared/internal";
import { expect, test } from "vitest";

test("a table of numbers finds what a map finds, whatever comes and goes", () => {
  const table = new NumberTable<{ readonly number: number }>();
  const map = new Map<number, { readonly number: number }>();
  // Beside one another, far apart, and up to the largest there is.
  const numbers = [0, 1, 2, 255, 256, 257, 70_000, 70_001, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
  let random = 1;
  for (let i = 0; i < 5000; i++) {
    random = (random * 48_271) % 0x7fff_ffff;
    const number = numbers[random % numbers.length] as number;
    if (random % 3 === 0) {
      table.delete(number);
      map.delete(number);
    } else {
      table.set(number, { number });
      map.set(number, { number });
    }
    expect(numbers.map(each => table.get(each))).toEqual(numbers.map(each => map.get(each)));
  }
  expect([...table]).toEqual([...map].sort(([a], [b]) => a - b));
  table.clear();
  expect([...table]).toEqual([]);
  expect(table.get(1)).toBeUndefined();
});

test("a table of numbers has nothing under a number that is none of its own", () => {
  const table = new NumberTable<number>();
  table.set(7, 70);
  for (const number of [-1, 6, 8, 263, 2 ** 32 - 1]) expect(table.get(number)).toBeUndefined();
  expect(table.get(7)).toBe(70);
});
