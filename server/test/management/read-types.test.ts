import { type } from "@jecho/shared";
import { expect, test, vi } from "vitest";
import { ReadTypes } from "../../src/management/read-types.ts";

const Written = type("Written", { field0: "uint32" });

test("TYPE-12: whether a type can be read by another one is looked at once, however many consumers come", () => {
  const reads = new ReadTypes();
  const read = type("Read", { field0: "string" });
  const compared = vi.spyOn(read, "readerOf");
  reads.enter(read);
  expect(reads.review(Written, 1)).toBe("newly");
  for (let consumers = 2; consumers < 10; consumers++) {
    reads.enter(read);
    expect(reads.review(Written, consumers)).toBe("unread");
  }
  expect(compared).toHaveBeenCalledTimes(1);
});

test("TYPE-12: where consumers read by very many types, it is not looked at whether one of them can read what is written", () => {
  const reads = new ReadTypes();
  for (let n = 0; n < 64; n++) reads.enter(type(`Read${n}`, { field0: "string" }));
  expect(reads.review(Written, 64)).toBe("newly");
  reads.enter(type("Read64", { field0: "string" }));
  expect(reads.review(Written, 65)).toBe("read");
});
