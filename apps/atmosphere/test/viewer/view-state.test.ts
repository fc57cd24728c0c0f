import { JechoError } from "@jecho/client";
import { expect, test } from "vitest";
import {
  expectedIntervalMs,
  judge,
  type Signs,
  describe as say,
  staleAfterMs,
} from "../../viewer/src/panels/view-state.ts";

const NOW = Date.now();
const LIVE = { state: "live", since: NOW - 60_000 } as const;
const SIGNS: Signs = {
  now: NOW,
  session: LIVE,
  subscription: LIVE,
  isOnline: true,
  openedAt: NOW - 60_000,
  shownAt: 0,
  lastEventAt: NOW - 300,
  ageMs: 300,
  gapMs: 500,
  statusAt: NOW - 300,
  paused: false,
  expectedMs: 500,
  isAlarm: false,
  waitingSince: 0,
};

function stateOf(signs: Partial<Signs>): string {
  return judge({ ...SIGNS, ...signs }).state;
}

test("a view with fresh events is live", () => {
  expect(stateOf({})).toBe("live");
});

test("it is stale after three expected steps, and says since when", () => {
  expect(stateOf({ lastEventAt: NOW - 1400 })).toBe("live");
  const stale = judge({ ...SIGNS, lastEventAt: NOW - 1600 });
  expect(stale).toMatchObject({ state: "stale", since: NOW - 1600 });
  expect(say(stale)).toMatch(/^stale since \d\d:\d\d:\d\d$/);
  expect(stateOf({ lastEventAt: NOW - 1600, expectedMs: 1000 })).toBe("live");
});

test("what has been so since another day is said with its date", () => {
  const before = NOW - 24 * 3_600_000;
  const stale = judge({ ...SIGNS, openedAt: before, lastEventAt: before });
  expect(say(stale)).toMatch(/^stale since \d{1,2} \w+ 20\d\d, \d\d:\d\d$/);
});

test("what comes late is not called live, and is stale only when it does not come at all", () => {
  const behind = judge({ ...SIGNS, ageMs: 12_300 });
  expect(behind).toMatchObject({ state: "behind", since: NOW - 300 });
  expect(say(behind)).toBe("12 s behind");
  expect(stateOf({ ageMs: 1400 })).toBe("live");
  expect(stateOf({ ageMs: undefined })).toBe("live");
  // What takes 5 s to come may be as long in coming again.
  expect(stateOf({ lastEventAt: NOW - 6000, ageMs: 11_000 })).toBe("behind");
  expect(stateOf({ lastEventAt: NOW - 12_000, ageMs: 17_000 })).toBe("stale");
  // What came after 4 s may come after 4 s again.
  expect(stateOf({ lastEventAt: NOW - 3900, ageMs: 4900, gapMs: 4000 })).toBe("behind");
  expect(stateOf({ lastEventAt: NOW - 3900, ageMs: 4900, gapMs: 500 })).toBe("stale");
  expect(stateOf({ lastEventAt: NOW - 17_000, ageMs: 77_000, gapMs: 60_000 })).toBe("stale");
  // What was made while nobody looked is no delay.
  expect(stateOf({ ageMs: 60_000, shownAt: NOW - 200 })).toBe("live");
  expect(stateOf({ ageMs: 60_000, openedAt: NOW - 200 })).toBe("live");
});

test("what is to be expected is what was asked for, or what the machine can do", () => {
  expect(expectedIntervalMs(2, undefined)).toBe(500);
  expect(expectedIntervalMs(20, 180)).toBe(180);
  expect(staleAfterMs(50)).toBe(1500);
  expect(staleAfterMs(10_000)).toBe(30_000);
});

test("a paused simulation makes no view stale, a silent one does", () => {
  expect(stateOf({ paused: true, lastEventAt: NOW - 50_000 })).toBe("paused");
  expect(stateOf({ paused: true, lastEventAt: NOW - 50_000, statusAt: NOW - 5000 })).toBe("stale");
});

test("before the first event it waits, and knows whether there is a simulation", () => {
  expect(judge({ ...SIGNS, lastEventAt: 0 })).toMatchObject({
    state: "waiting",
    detail: "for the first event",
  });
  expect(judge({ ...SIGNS, lastEventAt: 0, statusAt: 0 })).toMatchObject({
    detail: "no simulation is heard",
  });
});

test("in alarm mode silence means that nothing changed, as long as the simulation is heard", () => {
  const quiet = { ...SIGNS, isAlarm: true, lastEventAt: NOW - 20_000 };
  expect(say(judge(quiet))).toMatch(/^live, no change since/);
  expect(judge({ ...quiet, statusAt: NOW - 9000 }).state).toBe("stale");
});

test("the session decides as long as it is not live, then the subscription, with the reason", () => {
  const error = new JechoError("MODULATOR_FAILED", "line 3: no");
  expect(judge({ ...SIGNS, subscription: { state: "refused", since: 5, error } })).toEqual({
    state: "refused",
    since: 5,
    detail: "MODULATOR_FAILED: line 3: no",
  });
  const broken = { state: "reconnecting", since: NOW - 2000 } as const;
  expect(stateOf({ session: broken })).toBe("reconnecting");
  expect(stateOf({ session: broken, subscription: { state: "connecting", since: 0 } })).toBe("reconnecting");
  expect(stateOf({ session: { state: "connecting", since: 0 }, lastEventAt: 0 })).toBe("connecting");
});

test("after a reconnection there is time for the first event", () => {
  expect(stateOf({ lastEventAt: NOW - 30_000, openedAt: NOW - 500 })).toBe("live");
  expect(stateOf({ lastEventAt: NOW - 30_000, openedAt: NOW - 3000 })).toBe("stale");
});

test("a page that is shown again has time for the first event, for none was sent to it while it was hidden", () => {
  expect(stateOf({ lastEventAt: NOW - 30_000, shownAt: NOW - 500 })).toBe("live");
  expect(stateOf({ lastEventAt: NOW - 30_000, shownAt: NOW - 3000 })).toBe("stale");
  const paused = { paused: true, lastEventAt: NOW - 30_000, statusAt: NOW - 20_000 };
  expect(stateOf({ ...paused, shownAt: NOW - 500 })).toBe("paused");
  expect(stateOf({ ...paused, shownAt: NOW - 10_000 })).toBe("stale");
});

test("a window that is long in coming is spoken of", () => {
  expect(judge({ ...SIGNS, waitingSince: NOW - 200 }).detail).toBe("");
  expect(judge({ ...SIGNS, waitingSince: NOW - 900 }).detail).toBe("new window is on its way");
});

test("a replay says how fast it is and how far behind, and is neither stale nor paused", () => {
  const replay = { speed: 6, stepsBehind: 76 };
  const past = { ...SIGNS, replay, lastEventAt: NOW - 20_000, paused: true };
  expect(say(judge(past))).toBe("replay 6×, 38 s behind");
  const lost = { state: "reconnecting", since: NOW - 100 } as const;
  expect(judge({ ...past, session: lost }).state).toBe("reconnecting");
});

test("a page that was handed over is not said to be refused", () => {
  const session = { state: "refused", since: NOW, error: new JechoError("HANDED_OVER") } as const;
  expect(say(judge({ ...SIGNS, session }))).toBe("continued elsewhere");
});

test("a connection that is not there says why before long, and at once where the device is offline", () => {
  const connecting = {
    ...SIGNS,
    lastEventAt: 0,
    session: { state: "connecting", since: NOW - 500 },
  } as const;
  expect(judge(connecting)).toMatchObject({ state: "connecting", detail: "" });
  expect(judge({ ...connecting, now: NOW + 5000 }).detail).toBe("no gateway has answered so far");
  expect(judge({ ...connecting, isOnline: false }).detail).toBe("this device is offline");
  const session = { ...connecting.session, error: new JechoError("CONNECTION_LOST", "it broke.") };
  expect(judge({ ...connecting, session }).detail).toBe("CONNECTION_LOST: it broke");
});
