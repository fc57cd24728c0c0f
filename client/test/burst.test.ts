import { modulatorFrom } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

const EVENTS = 16_000;
const note = "x".repeat(1000);

/* More than a connection takes at once, raised in one turn, and less than a queue of the producer's own holds. */

test.each([
  ["compiled", modulatorFrom<typeof Tick.event>(({ n }) => n >= 0)],
  ["hosted", modulatorFrom<typeof Tick.event>(({ n }) => JSON.stringify(n) !== "")],
])("MOE-12: a burst goes whole and in order through a modulator that is %s", async (tier, modulator) => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce({ queue: { bytes: 64 << 20 } });
  const got = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => got.put(n), { modulator });
  expect(consumer.placements).toMatchObject([{ tier }]);
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < EVENTS; n++) producer.publish({ n, note });
  await session.flush();
  await expect.poll(() => got.all.length + consumer.stats.missed).toBe(EVENTS);
  expect(got.all).toEqual(Array.from({ length: EVENTS }, (_, n) => n));
});
