import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, joinFrames, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const modulator = { source: "", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const OPEN_PRODUCER = { kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true } as const;
const OPEN_CONSUMER = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator } as const;
const [FAILED] = ERRORS.MODULATOR_FAILED;
const [CLOSED] = ERRORS.CLOSED;

const installed = (request: number, derived: number): Outgoing => ({
  kind: "Installed",
  request,
  derived,
  schema,
  needs: [],
  reads: schema,
});

/** In one message: a producer closes, and opens again. */
function again({ producer: endpoint }: { producer: number }): Uint8Array {
  const close = encodeControl({ kind: "CloseEndpoint", endpoint });
  return joinFrames([close, encodeControl({ ...OPEN_PRODUCER, request: 2 })]);
}

test("MOE-5: a modulator that fails at a producer before it is installed everywhere has no consumer: why is told", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  using slow = await RawClient.connect(gateway);
  for (const one of [producer, slow]) {
    one.send(encodeControl(OPEN_PRODUCER));
    await one.next("ProducerOpened");
  }
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { request, derived } = await producer.next("Install");
  const last = await slow.next("Install");
  // It is at its events at once, and fails at the first.
  const removed = { kind: "Removed", derived, code: FAILED, message: "it failed" } as const;
  producer.send(joinFrames([encodeControl(installed(request, derived)), encodeControl(removed)]));
  await producer.isAlive();
  slow.send(encodeControl(installed(last.request, last.derived)));
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: FAILED, message: "it failed" });
  expect(await slow.next("Remove")).toMatchObject({ derived });
  // The next one finds nothing of it.
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2 }));
  for (const one of [producer, slow]) {
    const install = await one.next("Install");
    expect(install.derived).not.toBe(derived);
    one.send(encodeControl(installed(install.request, install.derived)));
  }
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 2 });
});

test("MOE-5: a modulator that fails with the first event behind its installation has no consumer, either", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  producer.send(encodeControl(OPEN_PRODUCER));
  await producer.next("ProducerOpened");
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { request, derived } = await producer.next("Install");
  const removed = { kind: "Removed", derived, code: FAILED, message: "it failed" } as const;
  producer.send(joinFrames([encodeControl(installed(request, derived)), encodeControl(removed)]));
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: FAILED, message: "it failed" });
});

test("MOE-3: a producer that closes and opens again while a modulator is installed does not fail that", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  producer.send(encodeControl(OPEN_PRODUCER));
  const opened = await producer.next("ProducerOpened");
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const first = await producer.next("Install");
  producer.send(again(opened));
  const second = await producer.next("Install");
  // A process answers so what it is asked to remove in the meantime.
  producer.send(
    encodeControl({
      kind: "Refused",
      request: first.request,
      code: CLOSED,
      message: "it is not wanted any more",
    }),
  );
  await producer.isAlive();
  producer.send(encodeControl(installed(second.request, second.derived)));
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 1, channel: second.derived });
});

test("MOE-4: a producer that comes, goes and comes again at once ends no modulator for others", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  producer.send(encodeControl(OPEN_PRODUCER));
  using consumer = await RawClient.connect(gateway);
  await producer.next("ProducerOpened");
  consumer.send(encodeControl(OPEN_CONSUMER));
  const install = await producer.next("Install");
  producer.send(encodeControl(installed(install.request, install.derived)));
  await consumer.next("ConsumerOpened");
  using hasty = await RawClient.connect(gateway);
  hasty.send(encodeControl(OPEN_PRODUCER));
  const opened = await hasty.next("ProducerOpened");
  const first = await hasty.next("Install");
  hasty.send(again(opened));
  const second = await hasty.next("Install");
  hasty.send(
    joinFrames([
      encodeControl({
        kind: "Refused",
        request: first.request,
        code: CLOSED,
        message: "it is not wanted any more",
      }),
      encodeControl(installed(second.request, second.derived)),
    ]),
  );
  // The first word on the channel says that all is installed.
  for (;;) {
    const { channel } = await hasty.next("Demand");
    if (channel === opened.channel) break;
  }
  await consumer.isAlive();
  expect(consumer.frames.filter(({ kind }) => kind === "ConsumerLost")).toEqual([]);
});

test("MOE-5, MOE-18: a modulator that fails in its consumer's own process before it is installed everywhere has no consumer there", async () => {
  await using gateway = await createGateway();
  const producers = [await RawClient.connect(gateway), await RawClient.connect(gateway)] as const;
  for (const producer of producers) {
    producer.send(encodeControl({ ...OPEN_PRODUCER, modulates: false }));
    await producer.next("ProducerOpened");
    await producer.next("Demand");
  }
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const installs = [await consumer.next("Install"), await consumer.next("Install")] as const;
  const [{ request, derived }, last] = installs;
  const removed = { kind: "Removed", derived, code: FAILED, message: "it failed" } as const;
  consumer.send(joinFrames([encodeControl(installed(request, derived)), encodeControl(removed)]));
  consumer.send(encodeControl(installed(last.request, last.derived)));
  for (const producer of producers) {
    const { request: asked } = await producer.next("Demand");
    producer.send(encodeControl({ kind: "Noted", request: asked }));
  }
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: FAILED, message: "it failed" });
  for (const producer of producers) producer[Symbol.dispose]();
});
