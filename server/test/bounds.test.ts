import { createGateway, type Gateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, encodeRun, joinFrames, type Position, WHEN_FULL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);
const MEBIBYTE = { bytes: new Uint8Array(1 << 20), start: 0, end: 1 << 20 };

/** Who has said that it can take no more on channel "a", and a producer there, who heeds nothing that it is told. */
async function stuckAndHeedless(gateway: Gateway, whenFull: keyof typeof WHEN_FULL) {
  const stuck = await RawClient.connect(gateway);
  const queue = { whenFull: WHEN_FULL[whenFull], limitBytes: 0 };
  stuck.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING, queue });
  const { channel, consumer } = await stuck.next("ConsumerOpened");
  stuck.say({ kind: "Flow", derived: channel, ready: false });
  await stuck.isAlive();
  const heedless = await RawClient.connect(gateway);
  heedless.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const { producer } = await heedless.next("ProducerOpened");
  return {
    stuck,
    heedless,
    channel,
    consumer,
    raise: (raised: number) =>
      heedless.send(encodeRun({ channel, producer, raised, token: 0n, parameters: 0, flags: 0 }, [MEBIBYTE])),
    position: (raised: number): Position => ({
      kind: "Position",
      origin: 0n,
      after: 0n,
      through: 0n,
      channel,
      producer,
      urgent: false,
      source: 1n,
      by: "",
      raised: BigInt(raised),
      process: 0,
    }),
    async [Symbol.asyncDispose]() {
      stuck[Symbol.dispose]();
      heedless[Symbol.dispose]();
      await Promise.all([stuck.closed, heedless.closed]);
    },
  };
}

test("SLOW-1: with the policy block a producer that does not wait cannot fill the gateway: the consumer is cut off", async () => {
  await using gateway = await createGateway({ connectionQueueBytes: 1 << 20 });
  await using the = await stuckAndHeedless(gateway, "block");
  for (let n = 1; n <= 60; n++) the.raise(n);
  await the.heedless.isAlive();
  await the.stuck.isAlive();
  expect(the.stuck.frames.map(({ kind }) => kind)).not.toContain("ConsumerLost");
  for (let n = 61; n <= 70; n++) the.raise(n);
  expect(await the.stuck.next("ConsumerLost")).toMatchObject({
    consumer: the.consumer,
    code: ERRORS.SLOW_CONSUMER[0],
  });
  await the.stuck.isAlive();
});

test("SLOW-1: nor can one that says without end where it is", async () => {
  await using gateway = await createGateway({ connectionQueueBytes: 1 << 20 });
  await using the = await stuckAndHeedless(gateway, "drop-oldest");
  const many = 20_000;
  for (let n = 0; n < 12; n++)
    the.heedless.send(
      joinFrames(Array.from({ length: many }, (_, i) => encodeControl(the.position(n * many + i)))),
    );
  expect(await the.stuck.next("ConsumerLost")).toMatchObject({
    consumer: the.consumer,
    code: ERRORS.SLOW_CONSUMER[0],
  });
  await the.stuck.isAlive();
});

test("SLOW-1, row 44: who blocks and is never ready has producers wait for so long and no longer, and may not block again for a while", async () => {
  const blockMs = 400;
  await using gateway = await createGateway({ blockMs });
  await using the = await stuckAndHeedless(gateway, "block");
  using other = await RawClient.connect(gateway);
  other.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  await other.next("ConsumerOpened");
  for (let n = 1; n <= 9; n++) the.raise(n);
  expect(await the.heedless.next("Flow")).toMatchObject({ ready: false });
  expect(gateway.stats().blocking).toBe(1);
  const waitsSince = performance.now();
  expect(await the.heedless.next("Flow")).toMatchObject({ ready: true });
  expect(performance.now() - waitsSince).toBeGreaterThan(blockMs / 2);
  expect(gateway.stats().blocking).toBe(0);
  expect(await the.stuck.next("ConsumerLost")).toMatchObject({
    consumer: the.consumer,
    code: ERRORS.SLOW_CONSUMER[0],
    message: expect.stringContaining("400 ms (blockMs)"),
  });
  for (let n = 1; n <= 9; n++) await other.next("Events");
  const blocks = { queue: { whenFull: WHEN_FULL.block, limitBytes: 0 } };
  const opening = { kind: "OpenConsumer", request: 2, channel: "a", schema: NOTHING } as const;
  // Nor by another connection.
  for (const client of [the.stuck, other]) {
    client.say({ ...opening, ...blocks });
    expect(await client.next("Refused")).toMatchObject({
      code: ERRORS.OVERLOADED[0],
      message: expect.stringMatching(/may block again in \d+ s/),
    });
  }
  the.stuck.say(opening);
  await the.stuck.next("ConsumerOpened");
});

test("SLOW-1: who blocks and makes room in time goes on", async () => {
  await using gateway = await createGateway();
  await using the = await stuckAndHeedless(gateway, "block");
  const { channel } = the;
  for (let round = 0; round < 3; round++) {
    for (let n = 1; n <= 9; n++) the.raise(9 * round + n);
    await the.heedless.next("Flow");
    expect(gateway.stats().blocking).toBe(1);
    the.stuck.say({ kind: "Flow", derived: channel, ready: true });
    expect(await the.heedless.next("Flow")).toMatchObject({ ready: true });
    expect(gateway.stats().blocking).toBe(0);
    for (let n = 1; n <= 9; n++) await the.stuck.next("Events");
    the.stuck.say({ kind: "Flow", derived: channel, ready: false });
    await the.stuck.isAlive();
  }
  expect(the.stuck.frames.map(({ kind }) => kind)).not.toContain("ConsumerLost");
});
