import type { EventPlace } from "@jecho/client";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, Tick, whenLater } from "./rig.ts";

const history = { events: 1000 };
const evens = (first: number, last: number) =>
  Array.from({ length: (last - first) / 2 + 1 }, (_, i) => first + 2 * i);

/** A rig whose modulators run there, and consumers of a channel's even events, each in a process of its own. */
async function startAt(at: (typeof PLACES)[number]) {
  const rig = await rigAt(at);
  const [inbox, missed] = [new Inbox<number>(), new Inbox<number>()];
  return {
    rig,
    inbox,
    missed,
    produce: () => rig.session(rig.producing).channel("a", Tick).produce({ history }),
    subscribe: (from?: EventPlace | number, speed = 0) =>
      rig
        .session()
        .channel("a", Tick)
        .subscribe(({ n }) => inbox.put(n), {
          modulator: EVEN,
          onMissed: ({ events }) => missed.put(events),
          ...(from !== undefined && { from }),
          ...(speed > 0 && { speed }),
        }),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe.each(PLACES)("modulators at the %s", at => {
  test("HIST-7: behind a place comes what is kept of a producer that has gone since, beside one that is there", async () => {
    await using the = await startAt(at);
    const [first, second] = [await the.produce(), await the.produce()];
    const consumer = await the.subscribe();
    for (const producer of [first, second]) await expect.poll(() => producer.demand.total).toBeGreaterThan(1);
    for (let n = 1; n <= 10; n++) first.publish({ n, note: "" });
    await the.inbox.take(5);
    const { place } = consumer;
    await consumer.close();
    const { gateway } = the.rig;
    await expect.poll(() => first.demand.derived.length + gateway.stats().derivedChannels).toBe(0);
    for (let n = 11; n <= 20; n++) first.publish({ n, note: "" });
    await first.close();
    await the.subscribe(place);
    for (let n = 21; n <= 30; n++) second.publish({ n, note: "" });
    expect(await the.inbox.take(15)).toEqual(evens(2, 30));
    expect(the.missed.all).toEqual([]);
  });

  test("HIST-7: behind a place in the middle of a past comes what is kept of producers that it does not name", async () => {
    await using the = await startAt(at);
    const producers = [await the.produce(), await the.produce()];
    for (const [i, producer] of producers.entries())
      for (let n = 1; n <= 4; n++) {
        producer.publish({ n: 100 * i + n, note: "" });
        await whenLater(30);
      }
    const consumer = await the.subscribe(1, 0.05);
    await the.inbox.take(1);
    const { place } = consumer;
    await consumer.close();
    await the.subscribe(place);
    for (const [i, producer] of producers.entries()) producer.publish({ n: 100 * i + 6, note: "" });
    const all = await the.inbox.take(6);
    expect(all.filter(n => n < 100)).toEqual(evens(2, 6));
    expect(all.filter(n => n > 100)).toEqual(evens(102, 106));
    expect(the.missed.all).toEqual([]);
  });
});
