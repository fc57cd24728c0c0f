import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { FROM, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import {
  type Install,
  installed,
  placed,
  RawConsumer,
  RawProducer,
  removed,
  schema,
  start,
} from "./installing-rig.ts";
import { modulator, RawClient } from "./raw-client.ts";

const [FAILED] = ERRORS.MODULATOR_FAILED;
const [MISSING] = ERRORS.SERVICE_MISSING;
const [SILENT] = ERRORS.TIMED_OUT;
const [CLOSED] = ERRORS.CLOSED;

test("MOE-3: where every present producer refuses it, so is the consumer, with the first reason; who comes back is not", async () => {
  await using gateway = await start();
  using first = await RawProducer.open(gateway);
  using second = await RawProducer.open(gateway);
  using consumer = await RawConsumer.connect(gateway);
  const refuse = async (): Promise<void> => {
    await first.refuses(MISSING, "no thermostat");
    await second.refuses(FAILED, "no more");
  };
  consumer.subscribe({});
  await refuse();
  expect(await consumer.next("Refused")).toMatchObject({ code: MISSING, message: "no thermostat" });
  for (const one of [first, second]) await one.isAlive();
  expect(first.frames.filter(({ kind }) => kind === "Fault")).toEqual([]);
  const from = { from: FROM.resume, epoch: 1, seq: 1n, at: 0, speed: 0 };
  consumer.subscribe({ request: 2, from });
  await refuse();
  expect((await consumer.opened()).placements).toEqual([
    placed("nowhere", first, MISSING),
    placed("nowhere", second, FAILED),
  ]);
});

test("MOE-3: a present producer that does not answer is left out, and taken in when it does", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using hung = await RawProducer.open(gateway);
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const { request, derived } = await hung.install();
  await healthy.installs();
  await consumer.runs(placed("nowhere", hung, SILENT), placed("producer", healthy));
  // The next modulator does not wait for it at all.
  consumer.subscribe({ request: 2, modulator: { ...modulator, key: "2" } });
  const other = await healthy.installs();
  await healthy.isAlive();
  await consumer.isAlive();
  expect(consumer.frames).toContainEqual(
    expect.objectContaining({ kind: "ConsumerOpened", request: 2, channel: other }),
  );
  hung.say(installed(request, derived));
  await consumer.runs(placed("producer", hung), placed("producer", healthy));
  await expect
    .poll(() => hung.frames)
    .toContainEqual(expect.objectContaining({ kind: "Demand", channel: derived, consumers: 1 }));
  await consumer.hears(hung, derived);
});

test("MOE-3: where no producer answers the consumer is opened in the end, as on a channel without producers", async () => {
  await using gateway = await createGateway({ installTimeoutMs: 20, requestTimeoutMs: 100 });
  using hung = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  expect((await consumer.opened()).placements).toEqual([placed("nowhere", hung, SILENT)]);
  await hung.refuses(MISSING);
  await consumer.runs(placed("nowhere", hung, MISSING));
  using late = await RawProducer.open(gateway);
  await late.installs();
  await consumer.runs(placed("nowhere", hung, MISSING), placed("producer", late));
});

test("MOE-3: a producer that closes and opens again while a modulator is installed does not fail that", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const first = await producer.install();
  producer.again();
  const second = await producer.install();
  // A process answers so what it is asked to remove in the meantime.
  producer.say({ kind: "Refused", request: first.request, code: CLOSED, message: "not wanted any more" });
  await producer.isAlive();
  producer.say(installed(second.request, second.derived));
  expect(await consumer.opened()).toMatchObject({ request: 1, channel: second.derived });
});

test("MOE-4: a producer that joins and does not answer is not open, and nobody else notices", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  await consumer.opened();
  using hung = await RawProducer.open(gateway);
  const { request } = await hung.install();
  await consumer.runs(placed("producer", healthy), placed("nowhere", hung, SILENT));
  for (let n = 1; n <= 3; n++) {
    await consumer.hears(healthy, derived, n);
  }
  // What is installed while it is being opened it has to have, too.
  consumer.subscribe({ request: 2, modulator: { ...modulator, key: "2" } });
  await healthy.installs();
  await consumer.opened();
  const second = await hung.install();
  hung.say(installed(request, derived));
  await consumer.runs(placed("producer", healthy), placed("producer", hung));
  expect(await hung.isOpenBy([consumer])).toBe(false);
  hung.say(installed(second.request, second.derived));
  await hung.isOpen();
  expect(consumer.endings).toEqual([]);
});

test("MOE-4: a producer that joins and refuses a modulator is open without it, and told; consumers are told, and go on", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  await consumer.opened();
  using lacking = await RawProducer.open(gateway);
  await lacking.refuses(MISSING, "no thermostat");
  await lacking.isOpen();
  expect(await lacking.next("Fault")).toMatchObject({
    code: ERRORS.MODULATOR_LEFT_OUT[0],
    message: expect.stringContaining("SERVICE_MISSING: no thermostat"),
  });
  expect(await consumer.placements()).toEqual([
    placed("producer", healthy),
    placed("nowhere", lacking, MISSING),
  ]);
  // Also when it is the only one that is left.
  healthy.say({ kind: "CloseEndpoint", endpoint: healthy.number });
  expect(await consumer.placements()).toEqual([placed("nowhere", lacking, MISSING)]);
  using other = await RawProducer.open(gateway);
  expect(await other.installs()).toBe(derived);
  await other.isOpen();
  await consumer.hears(other, derived);
  expect(consumer.endings).toEqual([]);
});

test("MOE-4: a producer that comes, goes and comes again at once ends no modulator for others, and is open when all is installed", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  await producer.installs();
  await consumer.opened();
  using hasty = await RawProducer.open(gateway);
  const first = await hasty.install();
  hasty.again();
  const second = await hasty.install();
  hasty.say({ kind: "Refused", request: first.request, code: CLOSED, message: "not wanted any more" });
  expect(await hasty.isOpenBy([consumer])).toBe(false);
  hasty.say(installed(second.request, second.derived));
  await hasty.isOpen();
  await consumer.isAlive();
  expect(consumer.endings).toEqual([]);
});

test("MOE-17: a modulator behind one that failed at a producer is taken out there, too, and goes on elsewhere", async () => {
  await using gateway = await start();
  const producers = [await RawProducer.open(gateway), await RawProducer.open(gateway)] as const;
  const [failing, healthy] = producers;
  using consumer = await RawConsumer.open(gateway, { as: "first" });
  const [first] = await Promise.all(producers.map(one => one.installs()));
  await consumer.opened();
  consumer.subscribe({ request: 2, channel: "a#first" });
  const [behind] = await Promise.all(producers.map(one => one.installs()));
  await consumer.opened();
  failing.say(removed(first as number));
  expect(await failing.next("Remove")).toMatchObject({ derived: behind });
  const left = [placed("nowhere", failing, FAILED), placed("producer", healthy)];
  for (const _ of producers) expect(await consumer.placements()).toEqual(left);
  await consumer.hears(healthy, behind as number);
  // What was on its way from the other one harms nobody.
  failing.raise(behind as number, 1);
  await failing.isAlive();
  for (const one of producers) one[Symbol.dispose]();
});

test("MOE-5, MOE-18: a modulator that fails in its consumer's own process is left out there for that producer alone", async () => {
  await using gateway = await start();
  const producers = [
    await RawProducer.open(gateway, { modulates: false }),
    await RawProducer.open(gateway, { modulates: false }),
  ] as const;
  for (const one of producers) await one.next("Demand");
  using consumer = await RawConsumer.open(gateway);
  const installs = [await consumer.next("Install"), await consumer.next("Install")] as const;
  const [{ derived }] = installs;
  for (const { request } of installs) consumer.say(installed(request, derived));
  const [process, other] = installs.map(({ instead }) => instead?.process);
  consumer.say(removed(derived, process));
  for (const producer of producers) {
    const { request: asked } = await producer.next("Demand");
    producer.say({ kind: "Noted", request: asked });
  }
  const opened = await consumer.opened();
  const [notServed] = ERRORS.MODULATORS_NOT_SERVED;
  expect(opened.placements).toEqual([
    placed("nowhere", producers[0], FAILED),
    placed("consumer", producers[1], notServed),
  ]);
  consumer.say(removed(derived, other));
  expect(await consumer.next("ConsumerLost")).toMatchObject({ code: FAILED, consumer: opened.consumer });
  for (const producer of producers) producer[Symbol.dispose]();
});

/** Has a process note all demand that it is told of. */
async function notes(process: RawClient): Promise<void> {
  for (;;) {
    const { request } = await process.next("Demand");
    if (request !== 0) process.say({ kind: "Noted", request });
  }
}

test("CHAN-9, MOE-18: whose modulator is behind another one is asked again once others have installed that, where what is published there feeds it, too", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway, { modulates: false });
  using consumer = await RawConsumer.open(gateway, { as: "x" });
  for (const one of [producer, consumer]) notes(one).catch(() => {});
  const install = async (): Promise<Install> => {
    const asked = await consumer.install();
    consumer.say(installed(asked.request, asked.derived));
    return asked;
  };
  await install();
  await consumer.opened();
  consumer.subscribe({ request: 2, channel: "a#x", modulator: { ...modulator, key: "behind" } });
  const behind = await install();
  expect(behind.instead?.direct).toBe(false);
  await consumer.opened();
  using late = await RawConsumer.open(gateway, { as: "x" });
  const { request, derived } = await late.install();
  producer.say({ kind: "OpenProducer", request: 2, channel: "a#x", schema, modulates: false });
  await producer.isAlive();
  late.say(installed(request, derived));
  await late.opened();
  expect(await install()).toMatchObject({ derived: behind.derived, instead: { direct: true } });
});

test("MOE-18: a producer that does not note that it is to feed a consumer's process is left out until it does", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using hung = await RawProducer.open(gateway, { modulates: false });
  using healthy = await RawProducer.open(gateway);
  await hung.next("Demand");
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  const { request } = await consumer.next("Install");
  consumer.say(installed(request, derived));
  const { request: asked } = await hung.next("Demand");
  await consumer.runs(placed("nowhere", hung, SILENT), placed("producer", healthy));
  hung.say({ kind: "Noted", request: asked });
  await consumer.runs(placed("consumer", hung, ERRORS.MODULATORS_NOT_SERVED[0]), placed("producer", healthy));
});

test("MOE-18: a producer that can run a modulator no longer has it run elsewhere", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await producer.installs();
  await consumer.opened();
  producer.say(removed(derived, 0, ERRORS.MODULATORS_NOT_SERVED[0]));
  expect(await consumer.next("Install")).toMatchObject({ derived, instead: { own: true } });
  expect(consumer.endings).toEqual([]);
});

test("CON-8: what a producer says of a modulator's tier, and of why it does not run, reaches consumers bounded", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const long = "x".repeat(1 << 20);
  const cut = "x".repeat(2000);
  const { request, derived } = await producer.install();
  producer.say({ ...installed(request, derived), tier: "hosted", tierWhy: long } as Outgoing);
  expect((await consumer.opened()).placements).toMatchObject([{ tier: "hosted", tierWhy: cut }]);
  producer.say({ kind: "Tiered", derived, process: 0, tier: long, tierWhy: long });
  expect(await consumer.placements()).toMatchObject([{ tier: "", tierWhy: cut }]);
  producer.say({ kind: "Removed", derived, code: FAILED, message: long });
  expect(await consumer.next("ConsumerLost")).toMatchObject({ code: FAILED, message: cut });
  consumer.subscribe({ request: 2, modulator: { ...modulator, key: "2" } });
  await producer.refuses(FAILED, long);
  expect(await consumer.next("Refused")).toMatchObject({ message: cut });
});

test("MOE-4: a producer is sent many large modulators as it reads them, and stays", async () => {
  await using gateway = await start();
  using eve = await RawClient.connect(gateway);
  const objects = Array.from({ length: 64 }, (_, i) => {
    return { name: `o${i}`, object: `o${i}`, version: 1, state: "{}", lazy: false };
  });
  const MANY = 6;
  for (let i = 0; i < MANY; i++) {
    const made = { ...modulator, parameters: `${i}`, objects };
    eve.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator: made });
    await eve.next("ConsumerOpened");
  }
  const state = `{"a":"${"€".repeat(65_000)}"}`;
  for (const { object } of objects) eve.say({ kind: "ObjectUpdate", object, version: 2, state });
  await eve.isAlive();
  using producer = await RawProducer.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true });
  for (let i = 0; i < MANY; i++) expect((await producer.install()).modulator?.objects).toHaveLength(64);
  await producer.isAlive();
});
