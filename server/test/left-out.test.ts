import { ERRORS, type ErrorCode } from "@jecho/shared";
import type { Outgoing } from "@jecho/shared/internal";
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

const [FAILED] = ERRORS.MODULATOR_FAILED;
const [MISSING] = ERRORS.SERVICE_MISSING;

test("MOE-5: a producer where a modulator fails is left out, and told; the others run it on, also for who comes later", async () => {
  await using gateway = await start();
  using failing = await RawProducer.open(gateway);
  using slow = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const { request, derived } = await failing.install();
  // It is at its events at once, and fails at the first.
  failing.say(installed(request, derived), removed(derived));
  await failing.isAlive();
  await slow.installs();
  expect((await consumer.opened()).placements).toEqual([
    placed("nowhere", failing, FAILED),
    placed("producer", slow),
  ]);
  expect(await failing.next("Fault")).toMatchObject({
    code: ERRORS.MODULATOR_LEFT_OUT[0],
    message: expect.stringMatching(/a .*MODULATOR_FAILED: it failed/),
  });
  await consumer.hears(slow, derived);
  // Nobody asks it again for the same.
  consumer.subscribe({ request: 2 });
  expect(await consumer.opened()).toMatchObject({ request: 2, channel: derived });
  await failing.isAlive();
  expect(failing.frames.filter(({ kind }) => kind === "Install")).toEqual([]);
});

test("MOE-5: a modulator that has failed at every producer ends with the cause, and who comes next has it installed anew", async () => {
  await using gateway = await start();
  using first = await RawProducer.open(gateway);
  using second = await RawProducer.open(gateway);
  using third = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await first.installs();
  await second.installs();
  await third.refuses(MISSING);
  await consumer.opened();
  first.say(removed(derived));
  expect(await consumer.placements()).toEqual([
    placed("nowhere", first, FAILED),
    placed("producer", second),
    placed("nowhere", third, MISSING),
  ]);
  expect(consumer.endings).toEqual([]);
  second.say(removed(derived));
  expect(await consumer.next("ConsumerLost")).toMatchObject({ code: FAILED, message: "it failed" });
  consumer.subscribe({ request: 2 });
  for (const one of [first, second, third]) expect(await one.installs()).not.toBe(derived);
  expect(await consumer.opened()).toMatchObject({ request: 2 });
});

test("MOE-5: a modulator that fails with the first event behind its installation has no consumer, where it ran nowhere else", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const { request, derived } = await producer.install();
  producer.say(installed(request, derived), removed(derived));
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: FAILED, message: "it failed" });
});

test.each([
  ["its host has failed", ERRORS.MODULATOR_HOST_FAILED[0]],
  ["a call took too long, as on a busy machine", ERRORS.MODULATOR_TIMED_OUT[0]],
  ["it was closed", ERRORS.CLOSED[0]],
])(
  "MOE-5: where %s the producer is asked again, and never where the reason is the modulator's own",
  async (_, code) => {
    await using gateway = await start();
    using failing = await RawProducer.open(gateway);
    using passing = await RawProducer.open(gateway);
    using healthy = await RawProducer.open(gateway);
    using consumer = await RawConsumer.open(gateway);
    const [derived] = await Promise.all([failing, passing, healthy].map(one => one.installs()));
    await consumer.opened();
    failing.say(removed(derived as number));
    await failing.isAlive();
    passing.say(removed(derived as number, 0, code));
    await passing.installs();
    await expect
      .poll(() => consumer.frames.at(-1))
      .toMatchObject({
        kind: "Placed",
        placements: [
          placed("nowhere", failing, FAILED),
          placed("producer", passing),
          placed("producer", healthy),
        ],
      });
    // A producer raises for whom it knows to be there.
    await expect
      .poll(() => passing.frames)
      .toContainEqual(expect.objectContaining({ kind: "Demand", channel: derived, consumers: 1 }));
    await failing.isAlive();
    expect(failing.frames.filter(({ kind }) => kind === "Install")).toEqual([]);
  },
);

test("MOE-5: a consumer's process that serves no modulators at present is asked again", async () => {
  await using gateway = await start();
  using elsewhere = await RawProducer.open(gateway, { modulates: false });
  await elsewhere.next("Demand");
  using consumer = await RawConsumer.open(gateway);
  const { request, derived } = await consumer.next("Install");
  const [code] = ERRORS.MODULATORS_NOT_SERVED;
  using other = await RawProducer.open(gateway);
  await other.installs();
  consumer.say({ kind: "Refused", request, code, message: "not now" });
  expect((await consumer.opened()).placements).toEqual([
    placed("nowhere", elsewhere, code),
    placed("producer", other),
  ]);
  const again = await consumer.next("Install");
  consumer.say(installed(again.request, derived));
  const { request: asked } = await elsewhere.next("Demand");
  elsewhere.say({ kind: "Noted", request: asked });
  expect(await consumer.placements()).toEqual([
    placed("consumer", elsewhere, code),
    placed("producer", other),
  ]);
});

test.each<[string, (derived: number, request: number) => Outgoing]>([
  ["Removed of what it was never asked for", derived => removed(derived)],
  ["Installed that nobody asked for", derived => installed(77, derived)],
  ["Installed without a request", derived => installed(0, derived)],
  [
    "Impaired of what it was never asked for",
    derived => ({ kind: "Impaired", derived, code: ERRORS.MODULATOR_RESTARTED[0], message: "" }),
  ],
])("MOE-7: a stranger who says %s ends its own connection, and nothing else", async (_, lie) => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  await consumer.opened();
  // It produces, but on another channel.
  using stranger = await RawProducer.open(gateway, { channel: "b" });
  stranger.say(lie(derived, 1));
  expect(await stranger.closed).toMatchObject({ code: ERRORS.FRAME_UNEXPECTED[0] });
  await consumer.hears(healthy, derived);
  expect(consumer.endings).toEqual([]);
});

test.each<[string, ErrorCode, (install: Install) => Outgoing]>([
  [
    "answers another installation",
    "FRAME_UNEXPECTED",
    ({ request, derived }) => installed(request, derived + 1),
  ],
  ["answers by another kind of frame", "FRAME_UNEXPECTED", ({ request }) => ({ kind: "Noted", request })],
])("MOE-7: a producer that %s ends its own connection, and nothing else", async (_, code, lie) => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using liar = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  await healthy.installs();
  liar.say(lie(await liar.install()));
  expect(await liar.closed).toMatchObject({ code: ERRORS[code][0] });
  expect((await consumer.opened()).placements).toEqual([placed("producer", healthy)]);
});

test("MOE-5: a producer that says Impaired for a reason that it cannot be ends its own connection", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await producer.installs();
  await consumer.opened();
  producer.say({ kind: "Impaired", derived, code: ERRORS.INTERNAL[0], message: "a stranger says so" });
  expect(await producer.closed).toMatchObject({ code: ERRORS.FRAME_UNEXPECTED[0] });
  await consumer.isAlive();
  expect(consumer.frames.filter(({ kind }) => kind === "Impaired")).toEqual([]);
});

test("MOE-7: a declaration that cannot be read leaves its producer out alone", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using liar = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  await healthy.installs();
  const { request, derived } = await liar.install();
  const garbage = Uint8Array.from({ length: 100 }, (_, i) => i);
  liar.say({ kind: "Installed", request, derived, schema: garbage, needs: [], reads: schema });
  expect((await consumer.opened()).placements).toEqual([
    placed("producer", healthy),
    placed("nowhere", liar, ERRORS.TYPE_INVALID[0]),
  ]);
  expect(await liar.next("Remove")).toMatchObject({ derived });
});

test("MOE-5: a word that comes late, behind the end of what it is about, ends no connection", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await producer.installs();
  const opened = await consumer.opened();
  producer.say({ kind: "CloseEndpoint", endpoint: producer.number }, removed(derived));
  await producer.isAlive();
  consumer.say({ kind: "CloseEndpoint", endpoint: opened.consumer });
  await consumer.isAlive();
  producer.say(removed(derived));
  await producer.isAlive();
});
