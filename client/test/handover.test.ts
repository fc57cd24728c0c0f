import { connect, type Session, type View, viewFilter } from "@jecho/client";
import { describe, expect, test } from "vitest";
import { openHungProducer } from "./hung-producer.ts";
import { PATIENT_GATEWAY } from "./patient.ts";
import { rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, numbersOf, startRig, Tick, whenLater, whenState } from "./rig.ts";

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const EVERY_OTHER = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    seen = 0;
    enqueue(event) { if (++this.seen % this.moe.objects.view.step === 0) super.enqueue(event); }
  }`;

test("HAND-1: another device goes on where the first one was: nothing lost, nothing twice, no modulator installed again", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const first = rig.session();
  const [plain, halved] = [new Inbox<number>(), new Inbox<number>()];
  const view = first.share({ step: 2 });
  await first.channel("a", Tick).subscribe(({ n }) => plain.put(n), { label: "plain" });
  await first.channel("a", Tick).subscribe(({ n }) => halved.put(n), {
    modulator: { source: EVERY_OTHER, objects: { view } },
    label: "halved",
  });
  await expect.poll(() => producer.demand.total).toBe(2);
  const installed = producer.demand.derived[0]?.id;
  for (let n = 0; n < 101; n++) producer.publish({ n, note: "" });
  await plain.take(101);
  const { token, validMs } = await first.handover();
  expect(validMs).toBeGreaterThan(0);
  for (let n = 101; n < 201; n++) producer.publish({ n, note: "" });
  const second = connect(rig.gateway.address, { handover: token });
  const { subscriptions } = await second.inheritance();
  for (let n = 201; n < 301; n++) producer.publish({ n, note: "" });
  expect(subscriptions.map(({ label }) => label)).toEqual(["plain", "halved"]);
  for (const subscription of subscriptions) {
    const inbox = subscription.label === "plain" ? plain : halved;
    await subscription.takeOver<{ n: number }>(({ n }) => inbox.put(n));
  }
  for (let n = 301; n < 401; n++) producer.publish({ n, note: "" });
  expect(await plain.take(401)).toEqual(numbers(0, 401));
  expect(await halved.take(200)).toEqual(numbers(0, 200).map(i => 2 * i + 1));
  expect(producer.demand.derived.map(({ id }) => id)).toEqual([installed]);
  // The master copy of the view has come along: what is changed here takes effect.
  const inherited = subscriptions[1]?.objects.view as { update(state: object): void; state: object };
  expect(inherited.state).toEqual({ step: 2 });
  inherited.update({ step: 1_000_000 });
  await expect.poll(() => producer.demand.derived[0]?.objects.view).toEqual({ step: 1_000_000 });
  await second.close();
});

test("HAND-1, PROV-5: another device is told of what came and went before it was there, also where the first one had heard of no source", async () => {
  await using rig = await rigAt("consumer");
  const first = rig.session();
  const even = { modulator: EVEN };
  await first.channel("a", Tick).subscribe(() => {}, even);
  const there = await numbersOf(rig, "a", Tick, even);
  const { token } = await first.handover();
  const { subscriptions } = await rig.session({ handover: token }).inheritance();
  const producer = await rig.session(rig.producing).channel("a", Tick).produce();
  for (let n = 0; n < 20; n++) producer.publish({ n, note: "" });
  await there.take(10);
  await producer.close();
  const consumer = await subscriptions[0]?.takeOver(() => {});
  await expect.poll(() => consumer?.stats.missed).toBe(20);
});

test("HAND-2: a subscription is handed over under the label that it has then", async () => {
  await using rig = await startRig();
  const first = rig.session();
  const consumer = await first.channel("a", Tick).subscribe(() => {}, { label: "as it began" });
  const { token } = await first.handover();
  consumer.relabel("as it is now");
  const second = rig.session({ handover: token });
  const { subscriptions } = await second.inheritance();
  expect(subscriptions.map(({ label }) => label)).toEqual(["as it is now"]);
  expect(() => consumer.relabel("x".repeat(1025))).toThrow(
    expect.objectContaining({ code: "ARGUMENT_INVALID" }),
  );
});

describe("HAND-2: a subscription that is not open yet", () => {
  /** Hands over while one of two subscriptions waits for a producer that does not answer. */
  async function handsOver() {
    const rig = await startRig(PATIENT_GATEWAY);
    const hung = await openHungProducer(rig.gateway.address);
    const first = rig.session();
    await first.channel("b", Tick).subscribe(() => {}, { label: "open" });
    const opening = first.channel("a", Tick).subscribe(() => {}, {
      modulator: { source: EVERY_OTHER.replace("this.moe.objects.view.step", "2") },
      label: "opening",
    });
    await expect.poll(() => hung.frames).toContain("Install");
    const { token } = await first.handover();
    const second = rig.session({ handover: token });
    return { rig, hung, first, opening, second };
  }

  test("is waited for, and handed over with the others", async () => {
    const { rig, hung, opening, second } = await handsOver();
    await using _ = rig;
    await second.ready();
    hung.close();
    await opening;
    const { subscriptions } = await second.inheritance();
    expect(subscriptions.map(({ label }) => label)).toEqual(["open", "opening"]);
  });

  test("for which there is no time leaves all with the first device; the second one is told", async () => {
    const { rig, hung, first, opening, second } = await handsOver();
    await using _ = rig;
    await expect(second.inheritance()).rejects.toMatchObject({
      code: "HANDOVER_INVALID",
      message: expect.stringContaining("1 of the session's"),
    });
    hung.close();
    await opening;
    expect(first.status.state).toBe("live");
  });
});

test("HAND-2: a session with a consumer whose past is being made stays with the first device; the second one is told", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Tick).produce({ history: { events: 100 } });
  for (const n of [0, 2]) {
    producer.publish({ n, note: "" });
    await producing.flush();
    await whenLater(20);
  }
  const first = rig.session();
  const seen = new Inbox<number>();
  const source = EVERY_OTHER.replace("this.moe.objects.view.step", "2");
  // The second event of its past is due in five hours.
  await first
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), { modulator: { source }, from: 1, speed: 1e-6 });
  const { token } = await first.handover();
  const second = rig.session({ handover: token });
  await expect(second.inheritance()).rejects.toMatchObject({
    code: "HANDOVER_INVALID",
    message: expect.stringContaining("1 of the session's"),
  });
  expect(first.status.state).toBe("live");
});

test("HAND-2: the first device is told", async () => {
  await using rig = await startRig();
  const first = rig.session();
  const { token } = await first.handover();
  const second = connect(rig.gateway.address, { handover: token });
  await second.inheritance();
  await whenState(first, "refused");
  expect(first.status.error?.code).toBe("HANDED_OVER");
  await second.close();
});

test.for(["forged", "used", "too old", "of a session that has gone"])(
  "HAND-3: a token that is %s is refused",
  async kind => {
    await using rig = await startRig({ handoverMs: kind === "too old" ? 1 : 60_000 });
    const first = rig.session();
    const { token, validMs } = await first.handover();
    const given = performance.now();
    const others: Session[] = [];
    const take = (token: string): Promise<unknown> => {
      const session = connect(rig.gateway.address, { handover: token });
      others.push(session);
      return session.inheritance();
    };
    if (kind === "used") await take(token);
    // Only time makes it old, and a try that comes too early would use it up.
    if (kind === "too old") await expect.poll(() => performance.now() - given).toBeGreaterThan(validMs + 1);
    if (kind === "of a session that has gone") {
      await first.close();
      await expect.poll(() => rig.gateway.stats().connections).toBe(0);
    }
    await expect(take(kind === "forged" ? token.replace(/./g, "x") : token)).rejects.toMatchObject({
      code: "HANDOVER_INVALID",
    });
    if (kind === "forged") expect(first.status.state).toBe("live");
    for (const session of others) await session.close();
  },
);

test("HAND-3: a session that ends takes its token along, and nothing is kept for another device", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const first = rig.session();
  const modulator = { source: EVERY_OTHER.replace("this.moe.objects.view.step", "2") };
  await first.channel("a", Tick).subscribe(() => {}, { modulator });
  await expect.poll(() => producer.demand.total).toBe(1);
  await first.handover();
  await first.close();
  await expect.poll(() => producer.demand.total).toBe(0);
  expect(rig.gateway.stats().derivedChannels).toBe(0);
});

test("HAND-1: a session that connects again after it took over does not use its token again", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const first = rig.session();
  const seen = new Inbox<number>();
  const all: View = { firstLayer: 0, lastLayer: 9, south: -90, north: 90, west: 0, east: 360, stride: 1 };
  expect(viewFilter(first.share(all)).modulator).toBeDefined();
  await first.channel("a", Tick).subscribe(() => {});
  const { token } = await first.handover();
  const second = rig.session({ handover: token });
  const [subscription] = (await second.inheritance()).subscriptions;
  const consumer = await subscription?.takeOver<{ n: number }>(({ n }) => seen.put(n));
  await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
  producer.publish({ n: 1, note: "" });
  expect(await seen.take(1)).toEqual([1]);
  expect(consumer?.status.state).toBe("live");
});
