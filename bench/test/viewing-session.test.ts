import { expect, it } from "vitest";
import { readViewingSession } from "../src/viewing-session.ts";

const { durationMs, changes } = readViewingSession();

it("the recorded session lasts five minutes and has everything that a person does", () => {
  expect(durationMs).toBe(300_000);
  const opened = changes.filter(change => "opens" in change);
  expect(opened.some(({ threshold }) => threshold !== undefined)).toBe(true);
  const changed = new Set(
    changes.flatMap(change => ("changes" in change ? Object.keys(change.changes) : [])),
  );
  for (const name of ["west", "east", "north", "firstLayer"]) expect(changed).toContain(name);
});

it("its changes are in order, and each is of a view that was opened before", () => {
  const open = new Set<number>();
  let before = 0;
  for (const change of changes) {
    expect(change.atMs).toBeGreaterThanOrEqual(before);
    expect(change.atMs).toBeLessThan(durationMs);
    before = change.atMs;
    if ("opens" in change) open.add(change.view);
    else expect(open).toContain(change.view);
  }
  // The page's three.
  expect([...open].sort()).toEqual([0, 1, 2]);
});
