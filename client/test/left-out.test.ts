// One producer's silence, refusal or fault is that producer's alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Consumer, JechoError, Modulator, Placement } from "@jecho/client";
import { describe, expect, test } from "vitest";
import { openHungProducer } from "./hung-producer.ts";
import { numbered, PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, startRig, Tick } from "./rig.ts";

const where = (placements: readonly Placement[]): unknown[] => placements.map(({ at, code }) => [at, code]);

/** All states that it has from now on. */
function statesOf(consumer: Pick<Consumer<unknown>, "status" | "onStatus">): string[] {
  const states: string[] = [consumer.status.state];
  consumer.onStatus(({ state }) => states.push(state));
  return states;
}

test("MOE-4: a producer that joins and hangs silences nobody", async () => {
  await using rig = await startRig({ installTimeoutMs: 100 });
  const producer = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: numbered });
  await expect.poll(() => where(consumer.placements)).toEqual([["producer", undefined]]);
  const states = statesOf(consumer);
  const hung = await openHungProducer(rig.gateway.address);
  await expect.poll(() => hung.frames).toContain("Install");
  for (let n = 0; n < 100; n++) expect(await producer.publishSync({ n, note: "" })).toBe(n % 2 === 0 ? 1 : 0);
  await expect
    .poll(() => where(consumer.placements))
    .toEqual([
      ["producer", undefined],
      ["nowhere", "TIMED_OUT"],
    ]);
  // Who comes now waits for nobody who hangs, either.
  const later = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: { ...numbered, parameters: 1 } });
  await expect.poll(() => later.placements).toHaveLength(2);
  for (let n = 100; n < 200; n++) await producer.publishSync({ n, note: "" });
  hung.close();
  await expect.poll(() => where(consumer.placements)).toEqual([["producer", undefined]]);
  expect(inbox.all).toEqual(Array.from({ length: 100 }, (_, i) => 2 * i));
  expect([states, consumer.stats.missed]).toEqual([["live"], 0]);
});

test("MOE-3: a producer's process that is stopped is left out, and taken in when it goes on", async () => {
  await using rig = await startRig({ installTimeoutMs: 100 });
  const file = fileURLToPath(new URL("stopped-producer.ts", import.meta.url));
  const child = fork(file, [rig.gateway.address]);
  try {
    await once(child, "message");
    const producer = await rig.session().channel("a", Tick).produce();
    child.kill("SIGSTOP");
    const inbox = new Inbox<string>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    const states = statesOf(consumer);
    await expect
      .poll(() => where(consumer.placements))
      .toEqual([
        ["nowhere", "TIMED_OUT"],
        ["producer", undefined],
      ]);
    for (const n of [2, 4]) await producer.publishSync({ n, note: "r" });
    expect(inbox.all).toEqual(["2 r1", "4 r2"]);
    child.kill("SIGCONT");
    await expect
      .poll(() => where(consumer.placements))
      .toEqual([
        ["producer", undefined],
        ["producer", undefined],
      ]);
    child.send(6);
    expect(await inbox.take(3)).toEqual(["2 r1", "4 r2", "6 child1"]);
    expect(states).toEqual(["live"]);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

test("MOE-4, MOE-10: a producer without a service that a modulator needs is left out; its application and the consumer are told", async () => {
  await using rig = await startRig();
  const needy: Modulator = {
    source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static needs = ["services.half"];
  enqueue({ n, note }) { super.enqueue({ n: this.moe.services.half(n), note }); } }`,
  };
  const half = (n: number): number => n / 2;
  const offering = await rig
    .session()
    .channel("a", Tick)
    .produce({ delegate: { services: { half } } });
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: needy });
  const states = statesOf(consumer);
  const told = new Inbox<JechoError>();
  const beside = new Inbox<JechoError>();
  await rig.session({ name: "both", onError: beside.put }).channel("b", Tick).produce();
  const lacking = await rig.session({ name: "both", onError: told.put }).channel("a", Tick).produce();
  // One that does not ask what goes wrong is not ended by it.
  const careless = await rig.session().channel("a", Tick).produce();
  const [why] = await told.take(1);
  expect(why).toMatchObject({
    code: "MODULATOR_LEFT_OUT",
    message: expect.stringMatching(/^a modulator of a .*SERVICE_MISSING.*half/),
  });
  // Another session of that process has nothing to do with it.
  expect([beside.all.length, rig.gateway.stats().connections]).toEqual([0, 4]);
  await expect
    .poll(() => where(consumer.placements))
    .toEqual([
      ["producer", undefined],
      ["nowhere", "SERVICE_MISSING"],
      ["nowhere", "SERVICE_MISSING"],
    ]);
  for (const producer of [lacking, careless]) expect(await producer.publishSync({ n: 2, note: "" })).toBe(0);
  expect(await offering.publishSync({ n: 4, note: "" })).toBe(1);
  expect([inbox.all, states]).toEqual([[2], ["live"]]);
  // Where nobody offers it, that is told to who asks.
  await offering.close();
  await expect(
    rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: { ...needy, parameters: 1 } }),
  ).rejects.toMatchObject({ code: "SERVICE_MISSING" });
});

describe.each(PLACES)("modulators at the %s", at => {
  test("MOE-5: one that fails at one producer's events is removed there, and goes on with those of others", async () => {
    await using rig = await rigAt(at);
    const good = await rig.session(rig.producing).channel("a", Tick).produce();
    const bad = await rig.session(rig.producing).channel("a", Tick).produce();
    const picky: Modulator = {
      source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.note === "bad") throw new Error("no such note"); super.enqueue(event); } }`,
    };
    const inbox = new Inbox<string>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: picky });
    const states = statesOf(consumer);
    for (const producer of [good, bad]) await producer.publishSync({ n: 1, note: "fine" });
    bad.publish({ n: 2, note: "bad" });
    const [running] = where([{ ...(consumer.placements[0] as Placement) }]);
    await expect.poll(() => where(consumer.placements)).toEqual([running, ["nowhere", "MODULATOR_FAILED"]]);
    expect(await bad.publishSync({ n: 3, note: "fine" })).toBe(0);
    expect(await good.publishSync({ n: 4, note: "fine" })).toBe(1);
    expect([inbox.all, states]).toEqual([["1 fine", "1 fine", "4 fine"], ["live"]]);
    // Where it has failed at every producer, it is over.
    good.publish({ n: 5, note: "bad" });
    await expect
      .poll(() => consumer.status)
      .toMatchObject({
        state: "refused",
        error: { code: "MODULATOR_FAILED", message: expect.stringContaining("no such note") },
      });
  });
});
