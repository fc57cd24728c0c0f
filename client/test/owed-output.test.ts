import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, moe, PATIENT, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** A modulator may take all the time that it needs. */
const PRODUCING = { limits: { ...PATIENT.limits, timeShare: 1, shareWindowMs: 60_000 } };

const modulator = (body: string) => moe(`enqueue(event) { ${body} }`);
/** Says when it begins, and lets nothing pass. */
const NOTHING = moe(`static needs = ["controls.began"];
  installed() { this.moe.controls.began(); }
  enqueue() {}`);
/** Hosted, as it is not compiled. */
const EVERYTHING = modulator("JSON.stringify(event.n); super.enqueue(event);");
const SLOW = modulator("for (const begin = Date.now(); Date.now() - begin < 80;); super.enqueue(event);");
/** Takes its host along, and so the state of the others. */
const DEADLY = modulator("if (event.n === 20) 'x'.repeat(2 ** 27).split('');");

test("PROV-2: what a modulator had been through before it began anew is said of its own channel alone at the next gateway", async () => {
  await using rig = await startRig();
  await using far = await startCutter(rig.gateway.address);
  await using nearFirst = await startCutter(rig.gateway.address);
  await using nearSecond = await startCutter(rig.gateway.address);
  await using producing = connect(far.address, { ...QUICK, name: "producing", modulators: PRODUCING });
  await using first = connect(nearFirst.address, { ...QUICK, name: "first" });
  await using second = connect(nearSecond.address, { ...QUICK, name: "second" });
  const began = new Inbox<true>();
  const producer = await producing
    .channel("a", Tick)
    .produce({ delegate: { controls: { began: () => began.put(true) } } });
  const seen = new Inbox<number>();
  const rejecting = await first.channel("a", Tick).subscribe(() => {}, { modulator: NOTHING });
  const deadly = await first.channel("a", Tick).subscribe(() => {}, { modulator: DEADLY });
  const passing = await second.channel("a", Tick).subscribe(({ n }) => seen.put(n), { modulator: SLOW });
  await expect.poll(() => producer.demand.derived.length).toBe(3);
  producer.publish({ n: 1, note: "" });
  await seen.take(1);
  for (let n = 2; n <= 20; n++) producer.publish({ n, note: "" });
  // The modulators have these.
  await new Promise(resolve => setImmediate(resolve));
  for (const way of [far, nearFirst, nearSecond]) way.part();
  await Promise.all([rejecting, passing].map(consumer => whenState(consumer, "reconnecting")));
  await deadly.close();
  await began.take(2);

  // The channels have each other's numbers there, and the producer its own.
  await rig.gateway.close();
  await rig.again();
  far.join();
  await whenState(producing, "live");
  nearSecond.join();
  await whenState(second, "live");
  nearFirst.join();
  await whenState(first, "live");
  await producer.publishWhenReady({ n: 21, note: "" });
  await expect.poll(() => seen.all.at(-1)).toBe(21);
  expect(seen.all).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  expect([rejecting.stats.missed, passing.stats.missed]).toEqual([0, 0]);
});

test("MOE-11, DEL-3: a host that dies after the gateway was started again is given anew what it was given before", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  await using producing = connect(way.address, { ...QUICK, name: "producing", modulators: PRODUCING });
  const producer = await producing.channel("a", Tick).produce();
  const channel = rig.session().channel("a", Tick);
  const [plain, slow, seen] = [new Inbox<number>(), new Inbox<number>(), new Inbox<number>()];
  // In the host one comes behind the other.
  const slowly = await channel.subscribe(({ n }) => slow.put(n), { modulator: SLOW });
  await channel.subscribe(() => {}, { modulator: DEADLY, onError: () => {} });
  const last = await channel.subscribe(({ n }) => seen.put(n), { modulator: EVERYTHING });
  await channel.subscribe(({ n }) => plain.put(n));
  await expect.poll(() => producer.demand.total).toBe(4);
  producer.publish({ n: 1, note: "" });
  await seen.take(1);
  for (let n = 2; n <= 20; n++) producer.publish({ n, note: "" });
  await new Promise(resolve => setImmediate(resolve));
  way.part();

  // The channel has another number there.
  await rig.gateway.close();
  await rig.again();
  await rig
    .session()
    .channel("b", Tick)
    .subscribe(() => {});
  way.join();
  await producer.publishWhenReady({ n: 21, note: "" });
  const all = Array.from({ length: 21 }, (_, i) => i + 1);
  for (const inbox of [plain, slow, seen]) expect(await inbox.take(21)).toEqual(all);
  for (const consumer of [slowly, last]) {
    expect(consumer.stats.missed).toBe(0);
    expect(consumer.placements).toMatchObject([{ at: "producer", code: undefined }]);
  }
});
