import { expect, test } from "vitest";
import { circlesIn } from "../circles.ts";

test("finds the files that lead to each other, and none that only lead there", () => {
  const imports = {
    main: ["a", "e"],
    a: ["b"],
    b: ["c", "leaf"],
    c: ["a"],
    d: ["c", "e"],
    e: ["d"],
    leaf: [],
    self: ["self"],
  };
  expect(circlesIn(new Map(Object.entries(imports)))).toEqual([["a", "b", "c"], ["d", "e"], ["self"]]);
});

test("one circle that two ways lead through is one", () => {
  const imports = { a: ["b", "c"], b: ["d"], c: ["d"], d: ["a"] };
  expect(circlesIn(new Map(Object.entries(imports)))).toEqual([["a", "b", "c", "d"]]);
});
