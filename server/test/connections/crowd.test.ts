import { expect, onTestFinished, test, vi } from "vitest";
import { Crowd, Party } from "../../src/connections/crowd.ts";
import type { KnownLimits } from "../../src/gateway/gateway-limits.ts";

const limits = {
  connections: 100,
  connectionsPerAddress: 100,
  connectionsPerSubject: 100,
  framesPerSecond: 2,
  bytesPerSecond: 100,
  blockMs: 1000,
  keptBytes: 1000,
} as KnownLimits;

test("CON-8: ten seconds' worth may come at once, and more as time goes on", () => {
  const party = new Party(limits, "an address");
  // Whole, for sums of it to be exact.
  const now = Math.ceil(performance.now()) + 1000;
  party.message(1, now);
  for (let frames = 0; frames < 20; frames++) party.frame();
  expect(() => party.frame()).toThrow("an address sends at most 2 frames a second");
  party.message(999, now + 1000);
  party.frame();
  party.frame();
  expect(() => party.frame()).toThrow("at most 2 frames");
  // A message counts whole, and what is too much of it has to be made up for.
  party.message(500, now + 1000);
  expect(() => party.message(1, now + 2000)).toThrow("at most 100 bytes a second");
  party.message(1, now + 10_000);
});

test("CON-8: a subject has one allowance at all its addresses, and each address one for all subjects", () => {
  const crowd = new Crowd(limits);
  const enter = (address: string, name: string) => {
    const parties: readonly Party[] = [];
    const connection = { address: "", parties, subject: { name } };
    crowd.enter(connection, address);
    crowd.greeted(connection, name);
    return connection;
  };
  const [home, away, other] = [enter("1", "ana"), enter("2", "ana"), enter("1", "bob")];
  expect(home.parties[0]).toBe(other.parties[0]);
  expect(home.parties[1]).toBe(away.parties[1]);
  expect(away.parties[0]).not.toBe(home.parties[0]);
  // Who leaves and comes back has what was left.
  crowd.leave(home);
  crowd.leave(away);
  expect(enter("3", "ana").parties[1]).toBe(home.parties[1]);
  expect(enter("3", "").parties).toHaveLength(1);
});

test("CON-8: at a home what is kept for an address has one bound, however long its connections to others were idle", () => {
  let now = 1000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => void clock.mockRestore());
  const crowd = new Crowd(limits);
  const visit = (name: string) => {
    const parties: readonly Party[] = [];
    const connection = { address: "1", parties, subject: { name } };
    crowd.visits(connection, name);
    return connection;
  };
  const first = visit("ana");
  now += 21_000;
  const second = visit("ana");
  expect(second.parties).toEqual(first.parties);
  expect(second.parties[0]).toBe(first.parties[0]);
  for (const one of [first, second]) crowd.visited(one);
  now += 42_000;
  visit("bob");
  now += 21_000;
  expect(visit("ana").parties[1]).not.toBe(first.parties[1]);
});

test("SLOW-1: who has had producers wait too long may not block for a while, each time twice as long, at most ten minutes", () => {
  const party = new Party(limits, "a subject");
  const mayNotBlockAt = (now: number) =>
    expect(() => party.checkBlocking(now)).toThrow(
      /^a subject that had producers wait for more than 1000 ms/,
    );
  let now = 1000;
  party.checkBlocking(now);
  for (const ms of [1000, 2000, 4000, 8000]) {
    party.blockedTooLong(now);
    mayNotBlockAt(now + ms - 1);
    party.checkBlocking(now + ms);
    now += ms;
  }
  for (let times = 0; times < 20; times++) party.blockedTooLong(now);
  mayNotBlockAt(now + 599_999);
  party.checkBlocking(now + 600_000);
  // It was good for as long.
  now += 1_200_001;
  party.blockedTooLong(now);
  party.checkBlocking(now + 1000);
});
