import { expect, test } from "vitest";
import { Account, type Source } from "../src/chaos/checker.ts";
import { type MeaningName, meaningOf, NOTICE, NOTICES, URGENT_LIFE } from "../src/chaos/event.ts";

const [PRODUCER, LIFE] = [1, 1];
/** As what was raised at once, after consumers had subscribed. */
const sourceOf = (due: number, more: Partial<Source> = {}): Source => ({
  producer: PRODUCER,
  life: LIFE,
  channel: "chaos/kept",
  serves: true,
  isDirect: false,
  due,
  raised: due,
  isOver: false,
  marks: [{ n: 0, atMs: 2 }],
  ...more,
});

/** Account of a consumer that subscribed at 1. */
function accountOf(meaning: MeaningName): Account {
  const account = new Account("one", "chaos/kept", meaningOf(meaning));
  account.subscribed(1);
  return account;
}

/** An event, one that stands for those since `first`, or one with what its modulator has counted. */
type Told =
  | number
  | { readonly n: number; readonly first?: number; readonly count?: number }
  | keyof typeof NOTICES;

function take(account: Account, ...told: readonly (Told | { readonly missed: number })[]): void {
  for (const one of told) {
    const numbers =
      typeof one === "string"
        ? [0, NOTICE, NOTICES[one], 1, 0, 0]
        : typeof one === "number"
          ? [0, PRODUCER, LIFE, one, one, 0]
          : "missed" in one
            ? [0, NOTICE, NOTICES.missed, one.missed, 0, 0]
            : [0, PRODUCER, LIFE, one.first ?? one.n, one.n, one.count ?? 0];
    account.take(Uint32Array.from(numbers), 0);
  }
}

const CLEAN = {
  lostUntold: 0,
  duplicated: 0,
  reordered: 0,
  overtold: 0,
  restartedUntold: 0,
  corrupt: 0,
  late: 0,
};

test("what came whole and in order is in order", () => {
  const account = accountOf("all");
  take(account, 0, 1, 2);
  expect(account.owed([sourceOf(6)])).toBe(3);
  take(account, 3, 4, 5);
  expect(account.owed([sourceOf(6)])).toBe(0);
  expect(account.close([sourceOf(6)])).toMatchObject({ verdict: { ...CLEAN, events: 6 }, notes: [] });
});

test.for([
  ["a gap", [0, 1, 3, 4, 5], { lostUntold: 1 }],
  ["an end that never came", [0, 1, 2, 3], { lostUntold: 2 }],
  ["a beginning that never came", [2, 3, 4, 5], { lostUntold: 2 }],
  ["nothing at all", [], { lostUntold: 6 }],
  ["a repetition", [0, 1, 1, 2, 3, 4, 5], { duplicated: 1 }],
  ["a stretch that came again", [0, 1, 2, 3, 4, 5, 2, 3], { duplicated: 2 }],
  ["a step back", [0, 1, 3, 2, 4, 5], { reordered: 1 }],
] as const)("%s is seen", ([, ns, expected]) => {
  const account = accountOf("all");
  take(account, ...ns);
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ ...CLEAN, ...expected });
});

test("a gap that was told is not lost, and one that was told as larger than it is was told wrongly", () => {
  const account = accountOf("all");
  take(account, 0, { missed: 3 }, 4, 5);
  expect(account.owed([sourceOf(6)])).toBe(0);
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ ...CLEAN, told: 3 });
  take(account, { missed: 3 }, 8);
  expect(account.close([sourceOf(9)]).verdict).toMatchObject({ ...CLEAN, told: 3, overtold: 1 });
});

test("what is told of one time of faults makes up for nothing in another one", () => {
  const account = accountOf("all");
  take(account, 0, { missed: 3 }, 1, 2);
  expect(account.close([sourceOf(3)]).verdict).toMatchObject({ lostUntold: 0, overtold: 3 });
  take(account, 5);
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ lostUntold: 2 });
});

test("what comes after nobody waited for it any more is late, and not lost", () => {
  const account = accountOf("all");
  take(account, 0, 1);
  expect(account.close([sourceOf(4)]).verdict).toMatchObject({ lostUntold: 2 });
  take(account, 2, 3, 4);
  expect(account.close([sourceOf(5)]).verdict).toMatchObject({ ...CLEAN, late: 2 });
});

test("what was told to be missing and comes all the same was told wrongly", () => {
  const account = accountOf("all");
  take(account, 0, 1, { missed: 2 });
  expect(account.close([sourceOf(4)]).verdict).toMatchObject(CLEAN);
  take(account, 2, 3, 4);
  expect(account.close([sourceOf(5)]).verdict).toMatchObject({ ...CLEAN, overtold: 2 });
});

test("of a source that was there before it a consumer is owed what was raised once it had subscribed", () => {
  const marks = [
    { n: 0, atMs: 0 },
    { n: 4, atMs: 2 },
  ];
  const account = accountOf("all");
  expect(account.owed([sourceOf(6, { marks })])).toBe(2);
  take(account, 3, 4, 5);
  expect(account.close([sourceOf(6, { marks })]).verdict).toMatchObject({ ...CLEAN, events: 3 });
  const late = accountOf("all");
  take(late, 5);
  expect(late.close([sourceOf(6, { marks })]).verdict).toMatchObject({ lostUntold: 1 });
});

test("of a source that was killed, and raised nothing more once it had subscribed, a consumer is owed nothing", () => {
  const account = accountOf("all");
  const killed = sourceOf(3, { raised: 10, isOver: true, marks: [{ n: 0, atMs: 0 }] });
  expect(account.owed([killed])).toBe(0);
  take(account, 8, 9);
  expect(account.owed([killed])).toBe(0);
  expect(account.close([killed])).toMatchObject({ verdict: { ...CLEAN, events: 2 }, notes: [] });
});

test("one that never was subscribed is owed nothing", () => {
  const account = new Account("one", "chaos/kept", meaningOf("all"));
  expect(account.close([sourceOf(6)]).verdict).toMatchObject(CLEAN);
});

test("a filter's consumer is owed what passes, and nothing else may come", () => {
  const account = accountOf("even");
  take(account, 0, 2);
  expect(account.owed([sourceOf(6)])).toBe(1);
  take(account, 4);
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ ...CLEAN, events: 3 });
  take(account, 7, 8);
  expect(account.close([sourceOf(9)]).verdict).toMatchObject({ corrupt: 1, lostUntold: 1 });
});

test("to a filter's consumer raised events are told, of which fewer would have come", () => {
  const account = accountOf("even");
  take(account, 0, { missed: 5 }, 6);
  expect(account.close([sourceOf(8)]).verdict).toMatchObject({ ...CLEAN, told: 5 });
});

test("a modulator's state may begin anew once that was told", () => {
  const account = accountOf("counted");
  take(account, { n: 0, count: 1 }, { n: 1, count: 2 }, "restarted", { n: 2, count: 1 }, { n: 3, count: 2 });
  expect(account.close([sourceOf(4)]).verdict).toMatchObject({ ...CLEAN, restarts: 1 });
  take(account, { n: 4, count: 1 });
  expect(account.close([sourceOf(5)]).verdict).toMatchObject({ restartedUntold: 1 });
});

test("a modulator's state goes on over what was lost behind it", () => {
  const account = accountOf("counted");
  take(account, { n: 0, count: 1 }, { missed: 2 }, { n: 3, count: 4 }, { missed: 1 }, { n: 5, count: 5 });
  expect(account.close([sourceOf(6)]).verdict).toMatchObject(CLEAN);
});

test("events that were gathered stand for all since the last ones", () => {
  const account = accountOf("gathered");
  take(account, { n: 3, first: 0 }, { n: 5, first: 4 });
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ ...CLEAN, events: 6 });
  take(account, { n: 9, first: 8 });
  expect(account.close([sourceOf(10)]).verdict).toMatchObject({ lostUntold: 1 });
  take(account, { missed: 1 }, { n: 19, first: 15 });
  expect(account.close([sourceOf(20)]).verdict).toMatchObject({ lostUntold: 0 });
});

test("what was gathered of urgent events has no number where it is lost with others, and has one where it alone is lost", () => {
  const account = accountOf("gathered");
  const urgent = sourceOf(10, { life: URGENT_LIFE + LIFE });
  const takeUrgent = (first: number, n: number): void =>
    account.take(Uint32Array.of(0, PRODUCER, urgent.life, first, n, 0), 0);
  take(account, 0);
  takeUrgent(0, 2);
  take(account, { missed: 1 }, 2);
  takeUrgent(5, 9);
  expect(account.close([sourceOf(3), urgent]).verdict).toMatchObject({ ...CLEAN, told: 1 });
  takeUrgent(12, 13);
  expect(account.close([{ ...urgent, due: 14 }]).verdict).toMatchObject({ lostUntold: 1 });
});

test("what a modulator had gathered when it was told to begin anew, or its producer ended, went with it", () => {
  const account = accountOf("gathered");
  take(account, { n: 3, first: 0 }, "restarted", { n: 9, first: 6 });
  expect(account.close([sourceOf(12, { isOver: true })]).verdict).toMatchObject({
    ...CLEAN,
    lostWithState: 2,
  });
});

test("what a modulator had gathered when it was told to begin anew went with it, though nothing comes behind that", () => {
  const account = accountOf("gathered");
  take(account, { n: 3, first: 0 }, "restarted");
  expect(account.close([sourceOf(8)]).verdict).toMatchObject({ ...CLEAN, restarts: 1, lostWithState: 4 });
  // The restart was told once, and forgives nothing that came later.
  take(account, { n: 9, first: 8 });
  expect(account.close([sourceOf(12)]).verdict).toMatchObject({ lostUntold: 1, lostWithState: 0 });
});

test("what a modulator had gathered of urgent events went with it, though some came when a usual one had told that it began anew", () => {
  const account = accountOf("gathered");
  const urgent = sourceOf(12, { life: URGENT_LIFE + LIFE });
  const take = (first: number, n: number): void =>
    account.take(Uint32Array.of(0, PRODUCER, urgent.life, first, n, 0), 0);
  take(0, 2);
  account.take(Uint32Array.of(0, NOTICE, NOTICES.restarted, 1, 0, 0), 0);
  take(3, 5);
  take(8, 9);
  expect(account.close([urgent]).verdict).toMatchObject({ ...CLEAN, lostWithState: 4 });
  // The restart forgives nothing that came later.
  take(14, 15);
  expect(account.close([{ ...urgent, due: 16 }]).verdict).toMatchObject({ lostUntold: 1, lostWithState: 0 });
});

test("what a killed producer had raised and was not told to be taken may come, or be told, or neither", () => {
  const killed = sourceOf(4, { raised: 7, isOver: true });
  const account = accountOf("all");
  take(account, 0, 1, 2, 3);
  expect(account.owed([killed])).toBe(0);
  take(account, { missed: 3 });
  expect(account.close([killed]).verdict).toMatchObject({ ...CLEAN, events: 4, told: 3 });
  take(account, { missed: 1 });
  expect(account.close([killed]).verdict).toMatchObject({ overtold: 1 });
});

test("what a killed producer had raised may be told later, by another gateway, once", () => {
  const account = accountOf("all");
  take(account, 0);
  const killed = sourceOf(1, { raised: 4 });
  expect(account.close([killed]).verdict).toMatchObject(CLEAN);
  take(account, { missed: 2 });
  expect(account.close([]).verdict).toMatchObject({ ...CLEAN, told: 2 });
  take(account, { missed: 2 });
  expect(account.close([]).verdict).toMatchObject({ ...CLEAN, told: 2, overtold: 1 });
});

test("a modulator that began anew may gather some events again, with others, and never all of a former one alone", () => {
  const account = accountOf("gathered");
  take(account, { n: 3, first: 0 }, "restarted", { n: 5, first: 2 });
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ ...CLEAN, events: 8, repeatedInPart: 2 });
  take(account, "restarted", { n: 5, first: 4 });
  expect(account.close([sourceOf(6)]).verdict).toMatchObject({ duplicated: 2 });
  take(account, { n: 7, first: 6 }, { n: 9, first: 7 });
  expect(account.close([sourceOf(10)]).verdict).toMatchObject({ duplicated: 1 });
});

test("what was gathered of urgent events may come again whole, once a modulator was told to begin anew, and only then", () => {
  const account = accountOf("gathered");
  const urgent = (): void => account.take(Uint32Array.of(0, PRODUCER, URGENT_LIFE + LIFE, 0, 0, 0), 0);
  take(account, "restarted");
  urgent();
  urgent();
  expect(account.close([sourceOf(0)]).verdict).toMatchObject({ ...CLEAN, repeatedInPart: 1 });
  urgent();
  expect(account.close([sourceOf(0)]).verdict).toMatchObject({ duplicated: 1 });
});

test("what is gathered with events that were missing before is in order where it stands for later ones, too", () => {
  const account = accountOf("gathered");
  take(account, { n: 1, first: 0 }, { missed: 1 }, { n: 5, first: 4 }, "restarted", { n: 7, first: 1 });
  expect(account.close([sourceOf(8)]).verdict).toMatchObject({ ...CLEAN, repeatedInPart: 5 });
  take(account, { n: 11, first: 10 }, { n: 9, first: 8 });
  expect(account.close([sourceOf(12)]).verdict).toMatchObject({ reordered: 2 });
});

test("what the status of one that asked for the past says not to be kept has been told", () => {
  const account = accountOf("all");
  account.lacks(3);
  take(account, 0, 3, { missed: 2 }, 7);
  expect(account.owed([sourceOf(8)])).toBe(0);
  expect(account.close([sourceOf(8)]).verdict).toMatchObject({ ...CLEAN, events: 3, told: 2 });
  expect(account.owed([sourceOf(10)])).toBe(2);
});

test("what was raised before it had subscribed may have been on its way then, and be told", () => {
  const account = accountOf("all");
  const source = sourceOf(8, {
    marks: [
      { n: 0, atMs: 0 },
      { n: 4, atMs: 2 },
    ],
  });
  take(account, { missed: 2 }, 4, 5, 6, 7);
  expect(account.close([source]).verdict).toMatchObject({ ...CLEAN, events: 4, told: 2 });
  take(account, { missed: 1 });
  expect(account.close([source]).verdict).toMatchObject({ overtold: 1 });
});

test("who does not offer what a modulator needs is left out", () => {
  const account = accountOf("served");
  expect(account.owed([sourceOf(6, { serves: false })])).toBe(0);
  expect(account.owed([sourceOf(6)])).toBe(3);
});

test("an event that came spoilt is no lost one", () => {
  const account = accountOf("all");
  take(account, 0, "corrupt", 2);
  expect(account.close([sourceOf(3)]).verdict).toMatchObject({ corrupt: 1, lostUntold: 0 });
});

test("output that is made again since a history's file lacks it may come behind later output, where some of it was missed before", () => {
  const account = accountOf("even");
  take(account, 0, 2, { missed: 2 }, 8, 4, 6, 8);
  const { verdict } = account.close([sourceOf(9)], false);
  expect(verdict).toMatchObject({ ...CLEAN, repeatedInPart: 3 });
  take(account, 10, 14, 12);
  expect(account.close([sourceOf(15)], true).verdict).toMatchObject({ reordered: 1 });
});
