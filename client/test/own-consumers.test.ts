import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, PATIENT, startRig, Tick, whenState } from "./rig.ts";

/** A modulator may take all the time that it needs. */
const MODULATORS = { limits: { ...PATIENT.limits, timeShare: 1, shareWindowMs: 60_000 } };
const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** Hosted, and slow: most of its output is made after the connection has gone. */
const SLOW = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    for (const begin = Date.now(); Date.now() - begin < 20;);
    if (event.n % 2 === 0) super.enqueue(event);
  }
}`,
};

test.for([
  { elsewhere: true, restarts: true },
  { elsewhere: false, restarts: true },
  { elsewhere: true, restarts: false },
  { elsewhere: false, restarts: false },
])(
  "DEL-8: consumers in the producer's own process get what its modulators make while the gateway is away: %o",
  async ({ elsewhere, restarts }) => {
    await using rig = await startRig();
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { ...QUICK, name: "both", modulators: MODULATORS });
    const channel = session.channel("a", Tick);
    const producer = await channel.produce();
    const [here, there] = [new Inbox<number>(), new Inbox<number>()];
    const consumer = await channel.subscribe(({ n }) => here.put(n), { modulator: SLOW });
    const other = rig.session().channel("a", Tick);
    const remote = elsewhere
      ? await other.subscribe(({ n }) => there.put(n), { modulator: SLOW })
      : undefined;
    await expect.poll(() => producer.demand.total).toBe(elsewhere ? 2 : 1);
    producer.publish({ n: 2, note: "" });
    await here.take(1);
    for (let n = 3; n <= 40; n++) producer.publish({ n, note: "" });
    // The modulator has these.
    await new Promise(resolve => setImmediate(resolve));
    way.part();
    await whenState(consumer, "reconnecting");
    if (restarts) {
      await rig.gateway.close();
      await rig.again();
    }
    way.join();
    await producer.publishWhenReady({ n: 42, note: "" });
    const evens = Array.from({ length: 21 }, (_, i) => 2 * (i + 1)).filter(n => n !== 42 && n <= 40);
    const all = [...evens, 42];
    await expect.poll(() => here.all.at(-1)).toBe(42);
    expect({ here: here.all, missed: consumer.stats.missed }).toEqual({ here: all, missed: 0 });
    if (remote === undefined) return;
    await expect.poll(() => there.all.at(-1)).toBe(42);
    expect({ there: there.all, missed: remote.stats.missed }).toEqual({ there: all, missed: 0 });
  },
);
