import type { EventPlace } from "@jecho/client";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, Tick } from "./rig.ts";

/** Hands usual events on, and makes one event now and then of all urgent ones that came meanwhile: its note has their numbers. */
const GATHERED = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static periodMs = 10;
  gathered = [];
  enqueue({ n, note }) {
    if (note === "urgent") this.gathered.push(n);
    else super.enqueue({ n, note: note + " " + n });
  }
  period() {
    if (this.gathered.length > 0) super.enqueue({ n: 0, note: "urgent " + this.gathered.join(" ") });
    this.gathered = [];
  }
}`,
};

describe.each(PLACES)("modulators at the %s", at => {
  test.each([
    ["usual", "urgent"],
    ["urgent", "usual"],
  ])(
    "HIST-7, PROV-2: nothing comes again behind a place where urgent events were gathered, the first of all being %s",
    async (first, other) => {
      await using rig = await rigAt(at);
      const producer = await rig
        .session(rig.producing)
        .channel("a", Tick)
        .produce({ history: { events: 1000 } });
      const inbox = new Inbox<string>();
      let restarts = 0;
      const subscribe = (from?: EventPlace) =>
        rig
          .session()
          .channel("a", Tick)
          .subscribe(
            ({ note }) => {
              const [kind, ...all] = note.split(" ");
              for (const n of all) inbox.put(`${kind} ${n}`);
            },
            {
              modulator: GATHERED,
              onMissed: ({ events }) => inbox.put(`${events} missed`),
              onRestart: () => void restarts++,
              ...(from && { from }),
            },
          );
      const raised: string[] = [];
      /** Raises an event, and waits until it has come. */
      const raise = async (kind: string): Promise<void> => {
        const event = { n: raised.length, note: kind };
        if (kind === "urgent") producer.publishUrgent(event);
        else producer.publish(event);
        raised.push(`${kind} ${event.n}`);
        await expect.poll(() => inbox.all.at(-1)).toBe(raised.at(-1));
      };
      let consumer = await subscribe();
      await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
      for (const kind of [first, first, other, other, other]) await raise(kind);
      for (let round = 1; round <= 2; round++) {
        await consumer.close();
        consumer = await subscribe(consumer.place);
        for (const kind of [first, first, other, other, other]) await raise(kind);
        expect(restarts).toBe(round);
      }
      expect(inbox.all).toEqual(raised);
    },
  );
});
