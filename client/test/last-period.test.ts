import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, moe, Tick } from "./rig.ts";

/** Gives the newest event at the end of each period, which is longer than any test. */
const newest = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  periodMs = 3_600_000;
  newest = undefined;
  enqueue({ n, note }) { this.newest = { n, note }; }
  period() {
    if (this.newest !== undefined) super.enqueue(this.newest);
    this.newest = undefined;
  }
}`,
};

/** The same for all events that it has been through. */
const all = moe(`periodMs = 3_600_000;
  all = [];
  enqueue({ n }) { this.all.push(n); }
  period() { super.enqueue({ n: 0, note: this.all.join() }); }`);

/** Takes so long for each event that most of what a producer raises at once waits at the gateway. */
const slow = moe(`
  enqueue({ n }) { let sum = 0; for (let i = 0; i < 1e6; i++) sum += i % 7; if (sum > 0) super.enqueue({ n, note: "" }); }`);

/** As slow, and fails at the 50th. */
const failing = moe(`
  enqueue({ n }) {
    let sum = 0;
    for (let i = 0; i < 1e6; i++) sum += i % 7;
    if (n === 50) throw new Error("over");
    if (sum > 0) super.enqueue({ n, note: "" });
  }`);

test("PROV-5: of a modulator beside the gateway that fails once its producer has closed, what nothing accounts for is told", async () => {
  await using rig = await rigAt("gateway");
  const producer = await rig.session(rig.producing).channel("a", Tick).produce();
  const missed = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: failing, onMissed: ({ events }) => missed.put(events) });
  for (let n = 0; n < 100; n++) producer.publish({ n, note: "x".repeat(64 << 10) });
  await producer.close();
  const [told = 0] = await missed.take(1);
  expect(told + consumer.stats.events).toBe(100);
});

describe.each(PLACES)("at the %s", at => {
  test.each(["producer", "session"])(
    "MOE-12: what a modulator has gathered when its last producer closes, with its %s, is handed on",
    async how => {
      await using rig = await rigAt(at);
      const session = rig.session(rig.producing);
      const [first, last] = [
        await session.channel("a", Tick).produce(),
        await session.channel("a", Tick).produce(),
      ];
      const seen = new Inbox<number>();
      const consumer = await rig
        .session()
        .channel("a", Tick)
        .subscribe(({ n }) => seen.put(n), { modulator: newest });
      expect(consumer.placements[0]?.at).toBe(at);
      first.publish({ n: 1, note: "" });
      await first.close();
      last.publish({ n: 2, note: "" });
      last.publish({ n: 3, note: "" });
      await (how === "producer" ? last : session).close();
      expect(await seen.take(1)).toEqual([3]);
      expect(consumer.stats.missed).toBe(0);
    },
  );

  test.each(["by themselves", "with their session"])(
    "MOE-12: producers that close together, %s, have one last period, behind the events of all",
    async how => {
      await using rig = await rigAt(at);
      const session = rig.session(rig.producing);
      const channel = session.channel("a", Tick);
      const producers = await Promise.all([1, 2, 3].map(() => channel.produce()));
      const notes: string[] = [];
      const reader = rig.session().channel("a", Tick);
      await reader.subscribe(({ note }) => notes.push(note), { modulator: all });
      for (const [i, producer] of producers.entries()) {
        await expect.poll(() => producer.demand.total).toBe(1);
        for (let n = 1; n <= 3; n++) producer.publish({ n: 10 * i + n, note: "" });
      }
      await (how === "by themselves"
        ? Promise.all(producers.map(producer => producer.close()))
        : session.close());
      // Output of the next one's events is behind all that was made of these.
      const next = await rig.session(rig.producing).channel("a", Tick).produce();
      await expect.poll(() => next.demand.total).toBe(1);
      next.publish({ n: 100, note: "" });
      await next.close();
      await expect.poll(() => notes.at(-1)).toMatch(/100$/);
      expect(notes.map(note => note.split(",").length)).toEqual([9, 1]);
    },
  );

  test("MOE-19: a modulator that is behind when its producer closes takes what waits, and goes on where another producer opens at once", async () => {
    await using rig = await rigAt(at);
    const channel = rig.session(rig.producing).channel("a", Tick);
    const first = await channel.produce();
    const seen = new Inbox<number>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => seen.put(n), { modulator: slow });
    expect(consumer.placements[0]?.at).toBe(at);
    const note = "x".repeat(64 << 10);
    for (let n = 0; n < 100; n++) first.publish({ n, note });
    await first.close();
    const second = await channel.produce();
    for (let n = 100; n < 110; n++) second.publish({ n, note });
    await second.close();
    const all = Array.from({ length: 110 }, (_, n) => n);
    // The order of different producers is not promised.
    expect((await seen.take(110)).sort((a, b) => a - b)).toEqual(all);
    expect(consumer.stats.missed).toBe(0);
  });
});
