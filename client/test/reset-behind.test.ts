import type { Modulator } from "@jecho/client";
import { describe, expect, test } from "vitest";
import { rigAt } from "./placement-rig.ts";
import { Inbox, moe, Tick } from "./rig.ts";

/** Takes so long for each event that it still owes most of them when their producer has long closed. */
const slow = moe(`
  enqueue({ n }) { let sum = 0; for (let i = 0; i < 4e6; i++) sum += i % 7; if (sum > 0) super.enqueue({ n, note: "" }); }`);

const EVENTS = 600;
/** So long that a call takes about twenty of them. */
const note = "x".repeat(12 << 10);

/** Passes the last event alone. */
const last = moe(`enqueue(event) { if (event.n === ${EVENTS - 1}) super.enqueue(event); }`);

describe.each(["gateway", "consumer"] as const)("modulators at the %s", at => {
  test.each<[string, Modulator | undefined]>([
    ["none", undefined],
    ["one that has been through all of it for another consumer", last],
  ])(
    "MOE-8, PROV-5: what a modulator owes of a source that has ended is told when the consumer changes to %s",
    async (_, modulator) => {
      await using rig = await rigAt(at);
      const producer = await rig.session(rig.producing).channel("a", Tick).produce();
      const consumers = rig.session();
      const first = new Inbox<number>();
      const through = new Inbox<number>();
      const missed = new Inbox<number>();
      const channel = consumers.channel("a", Tick);
      const consumer = await channel.subscribe(({ n }) => first.put(n), {
        modulator: slow,
        onMissed: ({ events }) => missed.put(events),
      });
      await channel.subscribe(({ n }) => through.put(n), { modulator: last });
      for (let n = 0; n < EVENTS; n++) producer.publish({ n, note });
      await producer.close();
      await Promise.all([first.take(1), through.take(1)]);
      await consumer.reset({ modulator });
      let told = 0;
      while (told + consumer.stats.events < EVENTS) for (const events of await missed.take(1)) told += events;
      expect(told + consumer.stats.events).toBe(EVENTS);
    },
  );
});
