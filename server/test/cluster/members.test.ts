import { expect, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";

const NAMES = Array.from({ length: 3000 }, (_, i) => `sim/${i}`);

function membersOf(self: number, ...others: readonly number[]): Members {
  const members = new Members(self, () => {});
  for (const other of others) members.came(other);
  return members;
}

test("CLU-1: all gateways find the same home for a channel, and each is that of about as many", () => {
  const [one, other] = [membersOf(0, 1, 2), membersOf(2, 1, 0)];
  const counts = [0, 0, 0];
  for (const name of NAMES) {
    const home = one.homeOf(name);
    expect(other.homeOf(name)).toBe(home);
    counts[home] = (counts[home] as number) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test("CLU-3: when a gateway goes, only channels move whose home it was", () => {
  const members = membersOf(0, 1, 2);
  const before = NAMES.map(name => members.homeOf(name));
  members.left(2);
  for (const [i, name] of NAMES.entries()) {
    const home = before[i] as number;
    if (home === 2) expect([0, 1]).toContain(members.homeOf(name));
    else expect(members.homeOf(name)).toBe(home);
  }
});

test("CLU-10: where gateways keep histories in files, a channel has the same home whichever of them are there", () => {
  const all = membersOf(0, 1, 2);
  const alone = new Members(1, () => {}, 3);
  const before = NAMES.map(name => alone.homeOf(name));
  expect(before).toEqual(NAMES.map(name => all.homeOf(name)));
  alone.came(0);
  alone.left(0);
  expect(NAMES.map(name => alone.homeOf(name))).toEqual(before);
  expect(alone.present).toEqual(new Set([1]));
});
