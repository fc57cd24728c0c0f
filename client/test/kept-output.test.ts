import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, PATIENT, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** Passes events whose `n` leaves this remainder, slowly: most of its output is made after the connection has gone. */
const every = (remainder: number) => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    for (const begin = Date.now(); Date.now() - begin < 20;);
    if (event.n % 2 === ${remainder}) super.enqueue(event);
  }
}`,
});

test("DEL-3, MOE-18: output made while its consumers are away reaches those alone that had its modulator, over several gateways", async () => {
  await using rig = await startRig();
  await using near = await startCutter(rig.gateway.address);
  await using far = await startCutter(rig.gateway.address);
  await using producing = connect(far.address, { ...QUICK, name: "producing", modulators: { most: 0 } });
  await using consuming = connect(near.address, { ...QUICK, name: "consuming", modulators: PATIENT });
  const producer = await producing.channel("a", Tick).produce();
  const [even, odd] = [new Inbox<number>(), new Inbox<number>()];
  const channel = consuming.channel("a", Tick);
  const consumers = [
    await channel.subscribe(({ n }) => even.put(n), { modulator: every(0) }),
    await channel.subscribe(({ n }) => odd.put(n), { modulator: every(1) }),
  ];
  await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
  for (let n = 1; n <= 20; n++) producer.publish({ n, note: "" });
  await even.take(1);
  far.part();
  near.part();
  await Promise.all(consumers.map(consumer => whenState(consumer, "reconnecting")));

  // At the next gateway, which the producer never sees, their channels have each other's numbers.
  await rig.gateway.close();
  await rig.again();
  const other = rig.session().channel("a", Tick);
  for (const remainder of [1, 0]) await other.subscribe(() => {}, { modulator: every(remainder) });
  near.join();
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  near.part();
  await Promise.all(consumers.map(consumer => whenState(consumer, "reconnecting")));

  await rig.gateway.close();
  await rig.again();
  near.join();
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  far.join();
  await whenState(producing, "live");
  for (const n of [21, 22]) producer.publish({ n, note: "" });
  const all = Array.from({ length: 22 }, (_, i) => i + 1);
  expect(await even.take(11)).toEqual(all.filter(n => n % 2 === 0));
  expect(await odd.take(11)).toEqual(all.filter(n => n % 2 === 1));
});
