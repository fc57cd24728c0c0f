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
});
