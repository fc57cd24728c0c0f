import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, Tick } from "./rig.ts";

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
});
