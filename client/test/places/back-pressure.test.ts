import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackPressure } from "../../src/places/back-pressure.ts";

const MIB = 1 << 20;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** @param canPause may its connection be left unread? */
function pressure(canPause = true) {
  const done: string[] = [];
  const back = new BackPressure({
    pause: isPaused => {
      done.push(isPaused ? "pause" : "read");
      return canPause;
    },
    stall: endpoints => done.push(`stall ${[...endpoints].join()}`),
    resume: () => done.push("resume"),
    cutOff: endpoint => done.push(`cut off ${endpoint}`),
  });
  return {
    back,
    /** What was done since this was last asked, at the end of the turn. */
    async done(): Promise<string[]> {
      await Promise.resolve();
      return done.splice(0);
    },
  };
}

test("SLOW-4: up to 4 MiB nothing is done; then nothing is read, until 1 MiB is left", async () => {
  const { back, done } = pressure();
  back.add(1, 4 * MIB);
  expect(await done()).toEqual([]);
  back.add(1, 1);
  back.add(2, MIB);
  expect(await done()).toEqual(["pause"]);
  back.add(3, MIB);
  expect(await done()).toEqual([]);
  back.taken(4 * MIB);
  expect(await done()).toEqual([]);
  back.taken(MIB + 1);
  expect(await done()).toEqual(["read"]);
  vi.advanceTimersByTime(1000);
  expect(await done()).toEqual([]);
});

test("SLOW-4: after 100 ms the connection is read again, and the events of all who got too much wait at the gateway", async () => {
  const { back, done } = pressure();
  back.add(1, 3 * MIB);
  back.add(2, 2 * MIB);
  back.add(3, MIB);
  expect(await done()).toEqual(["pause"]);
  vi.advanceTimersByTime(99);
  expect(await done()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(await done()).toEqual(["read", "stall 2,3"]);
  // What was on its way, of others, does not hold up the connection again.
  back.add(1, MIB);
  back.add(4, MIB);
  expect(await done()).toEqual(["stall 1,4"]);
  back.taken(7 * MIB);
  expect(await done()).toEqual(["resume"]);
  back.add(5, 4 * MIB);
  expect(await done()).toEqual(["pause"]);
});

test("SLOW-4: where the connection cannot be left unread, events wait at the gateway at once", async () => {
  const { back, done } = pressure(false);
  back.add(1, 5 * MIB);
  back.add(2, MIB);
  expect(await done()).toEqual(["pause", "stall 1,2"]);
  back.taken(5 * MIB);
  expect(await done()).toEqual(["resume"]);
});

test("SLOW-4: a consumer for which more comes than 32 MiB is cut off", async () => {
  const { back, done } = pressure();
  back.add(1, 32 * MIB);
  expect(await done()).toEqual(["pause"]);
  back.add(2, 1);
  expect(await done()).toEqual(["cut off 2"]);
});

test("a session that ends is read to its end", async () => {
  const { back, done } = pressure();
  back.add(1, 5 * MIB);
  expect(await done()).toEqual(["pause"]);
  back.end();
  expect(await done()).toEqual(["read"]);
  vi.advanceTimersByTime(1000);
  expect(await done()).toEqual([]);
});
