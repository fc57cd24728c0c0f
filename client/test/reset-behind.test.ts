import { connect, type Modulator } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { describe, expect, inject, test } from "vitest";
import { rigAt } from "./placement-rig.ts";
import { Inbox, moe, numbersOf, PATIENT, Tick } from "./rig.ts";

/** Takes so long for each event that it still owes most of them when their producer has long closed. */
const slow = moe(`
  enqueue({ n }) { let sum = 0; for (let i = 0; i < 15e5; i++) sum += i % 7; if (sum > 0) super.enqueue({ n, note: "" }); }`);

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
      const channel = consumers.channel("a", Tick);
      const consumer = await channel.subscribe(({ n }) => first.put(n), { modulator: slow });
      await channel.subscribe(({ n }) => through.put(n), { modulator: last });
      for (let n = 0; n < EVENTS; n++) producer.publish({ n, note });
      await producer.close();
      await Promise.all([first.take(1), through.take(1)]);
      await consumer.reset({ modulator });
      await expect.poll(() => consumer.stats.events + consumer.stats.missed).toBe(EVENTS);
    },
  );
});

test.each<[string, Modulator | undefined]>([
  ["none", undefined],
  ["one that has been through all of it", last],
])(
  "MOE-8, PROV-5: who changes its modulator to %s is told what it lacks of a source that has come and gone before its process heard of it",
  async (_, modulator) => {
    await using rig = await rigAt("gateway", { heartbeatMs: 60_000 });
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { place: inject("place"), name: "late", modulators: PATIENT });
    const consumer = await session.channel("a", Tick).subscribe(() => {}, { modulator: slow });
    const through = await numbersOf(rig, "a", Tick, { modulator: last });
    way.stall();
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    for (let n = 0; n < EVENTS; n++) producer.publish({ n, note });
    await producer.close();
    await through.take(1);
    const reset = consumer.reset({ modulator });
    const looks = rig.session();
    const isAsked = async (): Promise<boolean> => {
      const [{ consumers, derived } = { consumers: 0, derived: [] }] = (await looks.overview("a")).of;
      return modulator === undefined ? consumers === 1 : derived.some(({ consumers }) => consumers === 2);
    };
    await expect.poll(isAsked).toBe(true);
    way.flow();
    await reset;
    await expect.poll(() => consumer.stats.events + consumer.stats.missed).toBe(EVENTS);
  },
);
