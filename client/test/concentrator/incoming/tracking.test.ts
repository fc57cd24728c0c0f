import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { TrackedSource } from "../../../src/concentrator/incoming/tracked-source.ts";
import { Tracker } from "../../../src/concentrator/incoming/tracking.ts";

const EVENT = { bytes: new Uint8Array(8), start: 0, end: 8 };

/** The same, of a call that made further runs. */
function part(raised: number, count: number, after: number, through: number): EventsFrame {
  const made = run(raised, count, after, through);
  made.account(after, through, true);
  return made;
}

/** Events `raised` to `raised + count - 1`, which account for those behind `after` up to `through` of another source. */
function run(raised: number, count = 1, after = 0, through = 0): EventsFrame {
  const header = { channel: 1, producer: 1, raised, token: 0n, parameters: 0, flags: 0, after, through };
  return EventsFrame.at(
    encodeRun(
      header,
      Array.from({ length: count }, () => EVENT),
    ),
  );
}

function sourcesOf<const Ids extends readonly bigint[]>(...ids: Ids): { [I in keyof Ids]: TrackedSource } {
  return ids.map(id => new TrackedSource(id, false)) as { [I in keyof Ids]: TrackedSource };
}

test("DEL-4: what was had is not new, and what is missing is told, for each source apart", () => {
  const tracker = new Tracker();
  const [a, b] = [new TrackedSource(1n, false), new TrackedSource(1n, true)];
  expect(tracker.take(a, run(5, 3))).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(b, run(1))).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(a, run(6, 4))).toEqual({ had: 2, missing: 0 });
  expect(tracker.take(a, run(12))).toEqual({ had: 0, missing: 2 });
  // Another object for the same source.
  expect(tracker.take(new TrackedSource(1n, false), run(12))).toEqual({ had: 1, missing: 0 });
  expect(tracker.place(b, 4)).toBe(3);
  expect(tracker.places()).toEqual([
    { source: 1n, urgent: false, raised: 12n, origin: 0n, through: 0n },
    { source: 1n, urgent: true, raised: 4n, origin: 0n, through: 0n },
  ]);
});

test("DEL-4: of very many sources those are remembered that were heard last", () => {
  const tracker = new Tracker();
  const first = new TrackedSource(0n, false);
  tracker.take(first, run(1, 10));
  for (let id = 1n; id < 200_000n; id++) {
    tracker.take(new TrackedSource(id, false), run(1));
    if (id % 10_000n === 0n) tracker.take(first, run(10));
  }
  expect(tracker.take(first, run(10)).had).toBe(1);
  const remembered = new Set(tracker.places().map(({ source }) => source));
  expect(remembered.size).toBeLessThanOrEqual(65_536);
  const last = Array.from({ length: 49_151 }, (_, i) => 199_999n - BigInt(i));
  expect(last.filter(id => !remembered.has(id))).toEqual([]);
});

test("PROV-5: what nothing accounts for is told in raised events, and what was had does not come again", () => {
  const tracker = new Tracker();
  const [made, raw] = [new TrackedSource(1n, false), new TrackedSource(9n, false)];
  expect(tracker.place(made, 0, raw, 100, 100)).toBe(0);
  expect(tracker.take(made, run(1, 2, 100, 110), raw)).toEqual({ had: 0, missing: 0 });
  // Nothing was let through of ten more.
  expect(tracker.place(made, 2, raw, 110, 120)).toBe(0);
  expect(tracker.take(made, run(3, 1, 110, 121), raw)).toEqual({ had: 0, missing: 0 });
  // It is sent again.
  expect(tracker.take(made, run(3, 1, 110, 121), raw)).toEqual({ had: 1, missing: 0 });
  // Five never reached the modulator.
  expect(tracker.take(made, run(4, 1, 126, 130), raw)).toEqual({ had: 0, missing: 5 });
  // The run in between was lost, with what it accounts for.
  expect(tracker.take(made, run(6, 1, 140, 141), raw)).toEqual({ had: 0, missing: 10 });
  // Of the two runs of a turn the first was lost.
  expect(tracker.take(made, run(8, 1, 141, 151), raw)).toEqual({ had: 0, missing: 10 });
  // What a period made was lost, which accounts for nothing.
  expect(tracker.take(made, run(10, 1, 151, 151), raw)).toEqual({ had: 0, missing: 1 });
  // Two such: each stands for one raised event at least.
  expect(tracker.take(made, run(13, 1, 151, 151), raw)).toEqual({ had: 0, missing: 2 });
  // Two events were made that never came: what became of those that they were made of nobody knows.
  expect(tracker.place(made, 15, raw, 151, 160)).toBe(9);
});

test("PROV-1: of the runs that one call made the last accounts for all; DEL-4: what another place makes again of them is had", () => {
  const tracker = new Tracker();
  const [here, there, raw] = sourcesOf(1n, 2n, 9n);
  expect(tracker.take(here, part(1, 2, 0, 10), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.places()[0]?.through).toBe(0n);
  expect(tracker.take(here, run(3, 2, 0, 10), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.places()[0]?.through).toBe(10n);
  // It goes on elsewhere, from further back, and makes runs of the same size or not.
  expect(tracker.take(there, part(1, 3, 0, 10), raw)).toEqual({ had: 3, missing: 0 });
  expect(tracker.take(there, run(4, 1, 0, 10), raw)).toEqual({ had: 1, missing: 0 });
  expect(tracker.take(there, part(5, 1, 10, 20), raw)).toEqual({ had: 0, missing: 0 });
  // The last one of that call was lost.
  expect(tracker.take(there, part(7, 1, 20, 30), raw)).toEqual({ had: 0, missing: 10 });
  expect(tracker.take(there, run(8, 1, 20, 30), raw)).toEqual({ had: 0, missing: 0 });
  // A part was lost, and then the last one: that is told once.
  expect(tracker.take(there, part(10, 1, 30, 40), raw)).toEqual({ had: 0, missing: 10 });
  expect(tracker.take(there, run(12, 1, 40, 41), raw)).toEqual({ had: 0, missing: 1 });
});

test("PROV-5: whoever makes it, one count of the raw source goes on; DEL-4: two lanes of one source are counted apart", () => {
  const tracker = new Tracker();
  const raw = new TrackedSource(9n, false);
  expect(tracker.take(new TrackedSource(1n, false), run(1, 1, 0, 50), raw).missing).toBe(0);
  // Another process has taken over; 10 raised events were nobody's.
  expect(tracker.take(new TrackedSource(2n, false), run(1, 1, 60, 70), raw)).toEqual({ had: 0, missing: 10 });
  expect(
    tracker.take(new TrackedSource(1n, true), run(1, 1, 7, 8), new TrackedSource(9n, true)).missing,
  ).toBe(0);
});

test("PROV-5: to one that was away, a source that it does not know has begun meanwhile", () => {
  const [made, raw] = [new TrackedSource(1n, false), new TrackedSource(9n, false)];
  expect(new Tracker().place(raw, 500)).toBe(0);
  const back = (): Tracker => {
    const tracker = new Tracker();
    tracker.take(new TrackedSource(3n, false), run(40));
    tracker.away();
    return tracker;
  };
  expect(back().place(raw, 500)).toBe(500);
  expect(back().take(raw, run(501))).toEqual({ had: 0, missing: 500 });
  expect(back().place(made, 20, raw, 0, 500)).toBe(500);
  expect(back().place(made, 0, raw, 0, 500)).toBe(0);
  expect(back().take(made, run(1, 1, 400, 410), raw)).toEqual({ had: 0, missing: 400 });
});

test("MOE-11: another source of what is made of the same events is told as a restart, once", () => {
  const tracker = new Tracker();
  const madeBy = (incarnation: bigint, urgent: boolean): TrackedSource =>
    new TrackedSource((incarnation << 32n) | 5n, urgent);
  const raw = new TrackedSource(9n, false);
  const told = (): boolean => {
    const { hasRestarted } = tracker;
    tracker.hasRestarted = false;
    return hasRestarted;
  };
  tracker.take(madeBy(1n, false), run(1, 1, 0, 1), raw);
  tracker.take(madeBy(1n, true), run(1, 1, 0, 1), new TrackedSource(9n, true));
  expect(told()).toBe(false);
  tracker.take(madeBy(2n, false), run(1, 1, 1, 2), raw);
  expect(told()).toBe(true);
  tracker.take(madeBy(2n, true), run(1, 1, 1, 2), new TrackedSource(9n, true));
  tracker.take(madeBy(2n, false), run(2, 1, 2, 3), raw);
  expect(told()).toBe(false);
  // That of another producer is another state.
  tracker.place(madeBy(3n, false), 0, new TrackedSource(10n, false), 0, 0);
  expect(told()).toBe(false);
  tracker.away();
  tracker.place(madeBy(4n, false), 0, raw, 0, 3);
  expect(told()).toBe(true);
});

test("MOE-11: a restart is told whichever lane shows it, also where the new state was first met in another one", () => {
  const tracker = new Tracker();
  const [usual, urgent] = [new TrackedSource(9n, false), new TrackedSource(9n, true)];
  tracker.take(new TrackedSource(1n << 32n, true), run(1, 1, 0, 1), urgent);
  // Of the usual events the first modulator had made nothing.
  tracker.take(new TrackedSource(2n << 32n, false), run(1, 1, 0, 1), usual);
  expect(tracker.hasRestarted).toBe(false);
  tracker.take(new TrackedSource(2n << 32n, true), run(1, 1, 1, 2), urgent);
  expect(tracker.hasRestarted).toBe(true);
});

test("MOE-11: a state that was told of for one source is told of again where another one made the events in between", () => {
  const tracker = new Tracker();
  const [first, second] = [new TrackedSource(8n, false), new TrackedSource(9n, false)];
  const told = [
    [1n, first],
    [1n, second],
    // The consumer takes the place of both, which is one restart.
    [2n, first],
    [2n, second],
    [3n, second],
    // The first gets yet another one, and then that of the second, whose beginning was told before this one's.
    [4n, first],
    [3n, first],
  ] as const;
  const restarts = told.map(([incarnation, raw], i) => {
    tracker.hasRestarted = false;
    tracker.place(new TrackedSource((incarnation << 32n) | raw.id, false), 0, raw, i, i);
    return tracker.hasRestarted;
  });
  expect(restarts).toEqual([false, false, true, false, true, true, true]);
});

test("MOE-11: a modulator that makes a source's events again after another one had is told, too: its state lacks these", () => {
  const tracker = new Tracker();
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  const told = (take: () => unknown): boolean => {
    tracker.hasRestarted = false;
    take();
    return tracker.hasRestarted;
  };
  expect(told(() => tracker.take(first, run(1, 5, 0, 5), raw))).toBe(false);
  expect(told(() => tracker.take(second, run(1, 5, 5, 10), raw))).toBe(true);
  // No return: the first one says what it still owes of the events before that.
  expect(told(() => tracker.place(first, 6, raw, 5, 9))).toBe(false);
  expect(told(() => tracker.take(first, run(7, 1, 9, 9), raw))).toBe(false);
  expect(told(() => tracker.take(first, run(8, 1, 10, 11), raw))).toBe(true);
  expect(told(() => tracker.take(first, run(9, 1, 11, 12), raw))).toBe(false);
  expect(told(() => tracker.place(second, 5, raw, 12, 13))).toBe(true);
});

test.each([
  { goesOn: false, isTold: false },
  { goesOn: true, isTold: true },
])(
  "MOE-11: of a return that was told before the other one's last events, a source tells again: $isTold",
  ({ goesOn, isTold }) => {
    const tracker = new Tracker();
    const [usual, urgent] = [new TrackedSource(9n << 32n, false), new TrackedSource(9n << 32n, true)];
    const reached = new Map<TrackedSource, number>();
    const tells = (incarnation: bigint, raw: TrackedSource): boolean => {
      tracker.hasRestarted = false;
      const after = reached.get(raw) ?? 0;
      reached.set(raw, after + 1);
      tracker.take(
        new TrackedSource(incarnation << 32n, raw.urgent),
        run(after + 1, 1, after, after + 1),
        raw,
      );
      return tracker.hasRestarted;
    };
    expect([tells(1n, usual), tells(1n, urgent)]).toEqual([false, false]);
    expect([tells(2n, usual), tells(2n, urgent)]).toEqual([true, false]);
    // An urgent event overtakes usual ones.
    expect(tells(1n, urgent)).toBe(true);
    if (goesOn) expect(tells(2n, usual)).toBe(false);
    expect(tells(1n, usual)).toBe(isTold);
  },
);

test("MOE-11: a modulator that goes on with what it owes after another one has begun is no restart", () => {
  const tracker = new Tracker();
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  const restarts = [
    () => tracker.take(first, run(1, 5, 0, 5), raw),
    () => tracker.place(second, 0, raw, 5, 5),
    () => tracker.take(first, run(6, 1, 5, 6), raw),
    () => tracker.take(second, run(1, 1, 6, 7), raw),
    () => tracker.take(first, run(7, 1, 7, 8), raw),
  ].map(take => {
    tracker.hasRestarted = false;
    take();
    return tracker.hasRestarted;
  });
  expect(restarts).toEqual([false, true, false, false, true]);
});

test("MOE-11: who goes on behind a place is told of a restart whose events had not come there", () => {
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  const before = new Tracker();
  before.take(first, run(1, 5, 0, 50), raw);
  before.place(second, 0, raw, 50, 50);
  const tracker = new Tracker();
  tracker.inherit(before.places());
  tracker.take(first, run(6, 1, 50, 60), raw);
  expect(tracker.hasRestarted).toBe(false);
  tracker.take(second, run(1, 1, 60, 70), raw);
  expect(tracker.hasRestarted).toBe(true);
});

test("PROV-7: what was made of the same events at another place before does not come again", () => {
  const tracker = new Tracker();
  const [first, second, raw] = [
    new TrackedSource(1n, false),
    new TrackedSource(2n, false),
    new TrackedSource(9n, false),
  ];
  tracker.take(first, run(1, 1, 0, 50), raw);
  expect(tracker.take(second, run(1, 3, 40, 50), raw)).toEqual({ had: 3, missing: 0 });
  expect(tracker.take(second, run(4, 1, 50, 60), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(first, run(2, 2, 50, 60), raw)).toEqual({ had: 2, missing: 0 });
});

test("PROV-7: what was made at another place in part does not come again, and the rest of it is missing", () => {
  const tracker = new Tracker();
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  tracker.take(first, run(1, 3, 0, 30), raw);
  tracker.take(second, run(1, 2, 0, 20), raw);
  // One call made both: the last accounts for its stretch.
  expect(tracker.take(second, part(3, 1, 20, 35), raw)).toEqual({ had: 1, missing: 0 });
  expect(tracker.take(second, run(4, 1, 20, 35), raw)).toEqual({ had: 1, missing: 5 });
  // Both go on side by side.
  expect(tracker.take(first, run(4, 1, 30, 34), raw)).toEqual({ had: 1, missing: 0 });
  expect(tracker.take(second, run(5, 1, 35, 40), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(first, run(5, 1, 34, 45), raw)).toEqual({ had: 1, missing: 5 });
  expect(tracker.take(first, run(6, 1, 45, 50), raw)).toEqual({ had: 0, missing: 0 });
  // Nothing was made there of what both have been through.
  expect(tracker.place(first, 6, raw, 50, 60)).toBe(0);
  expect(tracker.take(second, run(6, 1, 50, 65), raw)).toEqual({ had: 0, missing: 0 });
});

test("PROV-7: what was made at another place does not come again of one that has said that it has been through it", () => {
  const tracker = new Tracker();
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  expect(tracker.take(first, run(1, 2, 0, 20), raw)).toEqual({ had: 0, missing: 0 });
  // The second has gathered all of that, and hands on later what it has made of it.
  expect(tracker.place(second, 0, raw, 10, 20)).toBe(0);
  expect(tracker.take(second, run(1, 1, 10, 20), raw)).toEqual({ had: 1, missing: 0 });
  expect(tracker.take(second, run(2, 1, 20, 30), raw)).toEqual({ had: 0, missing: 0 });
});

test("MOE-11: a restart is told also where the one before it has only begun", () => {
  const tracker = new Tracker();
  const [first, second, raw] = sourcesOf(1n << 32n, 2n << 32n, 9n << 32n);
  // The state of the first may hold events that nothing was made of yet.
  tracker.place(first, 0, raw, 0, 0);
  tracker.place(second, 0, raw, 0, 0);
  expect(tracker.hasRestarted).toBe(true);
});

test("HAND-1, PROV-5: another device goes on where this one was in each count", () => {
  const [made, raw] = [new TrackedSource(1n, false), new TrackedSource(9n, false)];
  const first = new Tracker();
  first.take(made, run(1, 5, 0, 50), raw);
  const second = new Tracker();
  second.inherit(first.places());
  expect(second.take(made, run(4, 4, 30, 60), raw)).toEqual({ had: 2, missing: 0 });
  expect(second.take(made, run(8, 1, 65, 70), raw)).toEqual({ had: 0, missing: 5 });
});

test("HAND-1, PROV-5: another device knows of a source that nothing was made of yet where the consumer began with it", () => {
  const [raw, made] = sourcesOf(9n, 1n << 40n);
  const first = new Tracker();
  // It was there before the consumer: what comes behind its event 100 is to be accounted for.
  expect(first.place(raw, 0, raw, 100, 100)).toBe(0);
  const second = new Tracker();
  second.inherit(first.places());
  expect(second.take(made, run(1, 1, 110, 120), raw)).toEqual({ had: 0, missing: 10 });
  expect(second.hasRestarted).toBe(false);
});

test("HAND-1, DEL-12: another device does not miss what had ended when the first one began", () => {
  const first = new Tracker();
  first.take(new TrackedSource(1n, false), run(1));
  const second = new Tracker();
  second.inherit(first.places(), 10_000);
  const ended = (id: bigint, agoMs: number): number =>
    second.place(new TrackedSource(id, false), 50, undefined, 0, 0, agoMs);
  expect(ended(2n, 20_000)).toBe(0);
  expect(ended(3n, 5_000)).toBe(50);
  const raw = new TrackedSource(4n, false);
  expect(second.place(raw, 50, raw, 50, 50, 20_000)).toBe(0);
  const [made, before] = sourcesOf(1n << 40n, 5n);
  expect(second.place(made, 20, before, 50, 50, 20_000)).toBe(0);
});

test("PROV-5: of a source that begins while the consumer is there, all is to be accounted for, whoever makes of it what it takes", () => {
  const tracker = new Tracker();
  const [raw, made, other] = sourcesOf(9n, 1n << 40n, 2n << 40n);
  // It begins: nobody has made anything of it, which is no restart of a modulator when somebody does.
  expect(tracker.place(raw, 0, raw, 5, 5)).toBe(0);
  expect(tracker.place(made, 0, raw, 46, 46)).toBe(41);
  expect(tracker.hasRestarted).toBe(false);
  // What is known of a source stays, however often it begins.
  expect(tracker.place(raw, 0, raw, 5, 5)).toBe(0);
  expect(tracker.take(made, run(1, 1, 46, 47), raw)).toEqual({ had: 0, missing: 0 });
  // One that had begun before begins with its first word.
  const before = new TrackedSource(8n, false);
  expect(tracker.place(other, 0, before, 70, 70)).toBe(0);
});

test("PROV-5: a new consumer whose modulator is behind, for the sake of others, is told what it misses from its first event on", () => {
  const [raw, made, other] = sourcesOf(9n, 1n << 40n, 2n << 40n);
  const begun = (): Tracker => {
    const tracker = new Tracker();
    expect(tracker.place(raw, 0, raw, 200, 200)).toBe(0);
    return tracker;
  };
  const tracker = begun();
  expect(tracker.take(made, run(1, 10, 90, 100), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.place(other, 0, raw, 200, 200)).toBe(100);
  const placed = begun();
  expect(placed.place(made, 0, raw, 80, 90)).toBe(0);
  expect(placed.take(made, run(1, 1, 95, 100), raw)).toEqual({ had: 0, missing: 5 });
  // What is made first may begin later, too.
  expect(begun().take(made, run(1, 1, 230, 240), raw)).toEqual({ had: 0, missing: 30 });
});

test("PROV-7: one that goes on where several modulators had brought it is as far as the farthest of them", () => {
  const tracker = new Tracker();
  const place = { urgent: false, origin: 9n };
  tracker.inherit([
    { ...place, source: 1n << 40n, raised: 100n, through: 100n },
    { ...place, source: 2n << 40n, raised: 5n, through: 250n },
    { ...place, source: 3n << 40n, raised: 0n, through: 200n },
  ]);
  const [made, raw] = [new TrackedSource(2n << 40n, false), new TrackedSource(9n, false)];
  expect(tracker.take(made, run(6, 1, 250, 251), raw)).toEqual({ had: 0, missing: 0 });
});

test("PROV-5: a run that is missing is told, though what it was made of had been accounted for before", () => {
  const tracker = new Tracker();
  const [made, raw] = [new TrackedSource(1n << 40n, false), new TrackedSource(9n, false)];
  expect(tracker.take(made, run(1, 1, 0, 10), raw)).toEqual({ had: 0, missing: 0 });
  // The modulator gathers these.
  expect(tracker.place(made, 1, raw, 0, 20)).toBe(0);
  // And has made a run of two events of them, which never came.
  expect(tracker.place(made, 3, raw, 0, 20)).toBe(2);
  expect(tracker.place(made, 3, raw, 0, 20)).toBe(0);
});

test("HAND-2, PROV-2: another device takes what was on its way, though the modulator had begun anew before", () => {
  const [raw, old, anew] = sourcesOf(9n, 1n << 32n, 2n << 32n);
  const first = new Tracker();
  first.take(old, run(1, 5, 0, 50), raw);
  first.take(anew, run(1, 1, 50, 60), raw);
  // Said before the run that the end of a period makes of these.
  first.place(anew, 1, raw, 60, 70);
  const second = new Tracker();
  second.inherit(first.places());
  expect(second.take(anew, run(2, 1, 60, 70), raw)).toEqual({ had: 0, missing: 0 });
});

test("PROV-7: what a modulator had gathered where it ran before is handed on before its first output from where it runs now, or told", () => {
  const [raw, old, anew] = sourcesOf(9n, 1n << 32n, 2n << 32n);
  const first = new Tracker();
  first.take(old, run(1, 5, 0, 50), raw);
  first.place(anew, 0, raw, 50, 60);
  // Nothing of the new place has come yet.
  expect(first.take(old, run(6, 2, 50, 50), raw)).toEqual({ had: 0, missing: 0 });
  expect(first.take(anew, run(1, 1, 60, 70), raw)).toEqual({ had: 0, missing: 0 });
  const second = new Tracker();
  second.inherit(first.places());
  for (const tracker of [first, second]) {
    expect(tracker.take(old, run(8, 3, 50, 50), raw)).toEqual({ had: 3, missing: 3 });
    // What the new place makes without further events is news.
    expect(tracker.take(anew, run(2, 1, 70, 70), raw)).toEqual({ had: 0, missing: 0 });
  }
  // Should it go on where it ran before, it is heard again.
  expect(first.take(old, run(11, 1, 70, 80), raw)).toEqual({ had: 0, missing: 0 });
  expect(first.take(old, run(12, 1, 80, 80), raw)).toEqual({ had: 0, missing: 0 });
});

test("PROV-7: what an incarnation had gathered that a consumer never heard of, and that was less far, is told instead of handed on", () => {
  const [raw, known, unknown] = sourcesOf(9n, 1n << 32n, 2n << 32n);
  const former = new Tracker();
  former.take(known, run(1, 20, 0, 91), raw);
  // The consumer goes on at a channel of which all that is kept comes.
  const tracker = new Tracker();
  tracker.inherit(former.places());
  expect(tracker.take(unknown, run(1, 3, 40, 44), raw)).toEqual({ had: 3, missing: 0 });
  expect(tracker.take(unknown, run(4, 1, 48, 48), raw)).toEqual({ had: 1, missing: 1 });
  expect(tracker.take(unknown, run(5, 1, 52, 52), raw)).toEqual({ had: 1, missing: 1 });
  expect(tracker.take(unknown, run(6, 1, 52, 91), raw)).toEqual({ had: 1, missing: 0 });
  // Output from there on is news.
  expect(tracker.take(unknown, run(7, 1, 91, 91), raw)).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(unknown, run(8, 1, 91, 95), raw)).toEqual({ had: 0, missing: 0 });
});
