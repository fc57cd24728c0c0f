import { expect, test } from "vitest";
import { FairShares } from "../../src/connections/fair-shares.ts";

test("of what is kept of many, whoever has most loses the oldest, and who has few loses nothing", () => {
  const shares = new FairShares<string>(5);
  expect(["s1", "s2"].map(thing => shares.add("sim", thing))).toEqual([undefined, undefined]);
  expect(["e1", "e2", "e3"].map(thing => shares.add("eve", thing))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(["e4", "e5"].map(thing => shares.add("eve", thing))).toEqual(["e1", "e2"]);
  // Of two with as many it is the one that wants more.
  expect(shares.add("sim", "s3")).toBe("s1");
  expect(shares.add("ana", "a1")).toBe("e3");
  expect([...shares].sort()).toEqual(["a1", "e4", "e5", "s2", "s3"]);
  shares.delete("sim", "s2");
  shares.delete("sim", "none");
  expect(shares.add("bob", "b1")).toBeUndefined();
  expect(shares.add("bob", "b2")).toBe("b1");
});
