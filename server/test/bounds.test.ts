import { createGateway, type Gateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, joinFrames, type Position, WHEN_FULL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);
const MEBIBYTE = new Uint8Array(1 << 20);

/** Who has said that it can take no more on a channel, and a producer there, who heeds nothing that it is told. */
async function stuckAndHeedless(gateway: Gateway, whenFull: keyof typeof WHEN_FULL, name = "a") {
  const stuck = await RawClient.connect(gateway);
  const queue = { whenFull: WHEN_FULL[whenFull], limitBytes: 0 };
  stuck.say({ kind: "OpenConsumer", request: 1, channel: name, schema: NOTHING, queue });
  const { channel, consumer } = await stuck.next("ConsumerOpened");
  stuck.say({ kind: "Flow", derived: channel, ready: false });
  await stuck.isAlive();
  const heedless = await RawClient.connect(gateway);
  heedless.say({ kind: "OpenProducer", request: 1, channel: name, schema: NOTHING });
  const { producer } = await heedless.next("ProducerOpened");
  return {
    stuck,
    heedless,
    channel,
    consumer,
    producer,
    raise: (raised: number) => heedless.send(encodedRun({ channel, producer, raised }, MEBIBYTE)),
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
      agoMs: 0,
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
  // No faster than the gateway reads: a busy one would end the producer.
  const raise = async (from: number, to: number): Promise<void> => {
    for (let n = from; n <= to; n++) {
      the.raise(n);
      await the.heedless.isAlive();
    }
  };
  await raise(1, 60);
  await the.stuck.isAlive();
  expect(the.stuck.frames.map(({ kind }) => kind)).not.toContain("ConsumerLost");
  await raise(61, 70);
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
  // As long as the ban: the machine may be busy when it is tried.
  const blockMs = 2000;
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
    message: expect.stringContaining("2000 ms (blockMs)"),
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

test("SLOW-1: whose last producer of a channel goes while that one is to wait may go on with its other channels", async () => {
  await using gateway = await createGateway();
  await using the = await stuckAndHeedless(gateway, "block");
  const { stuck, heedless, channel, producer } = the;
  heedless.say({ kind: "OpenProducer", request: 2, channel: "a", schema: NOTHING });
  const second = await heedless.next("ProducerOpened");
  for (let n = 1; n <= 9; n++) the.raise(n);
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: false });
  heedless.say({ kind: "CloseEndpoint", endpoint: second.producer });
  await heedless.isAlive();
  expect(heedless.frames.map(({ kind }) => kind)).not.toContain("Flow");
  heedless.say({ kind: "CloseEndpoint", endpoint: producer });
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: true });
  expect(gateway.stats().blocking).toBe(1);
  // A producer that is back has to wait as before.
  heedless.say({ kind: "OpenProducer", request: 3, channel: "a", schema: NOTHING });
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: false });
  stuck.say({ kind: "Flow", derived: channel, ready: true });
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: true });
});

/** Another consumer of the channel in that process. @returns its number */
async function beside(stuck: RawClient, whenFull: keyof typeof WHEN_FULL): Promise<number> {
  const queue = { whenFull: WHEN_FULL[whenFull], limitBytes: 0 };
  stuck.say({ kind: "OpenConsumer", request: 2, channel: "a", schema: NOTHING, queue });
  return (await stuck.next("ConsumerOpened")).consumer;
}

test("SLOW-2: when a consumer has gone that has producers wait, the policy of those beside it holds", async () => {
  await using gateway = await createGateway();
  await using the = await stuckAndHeedless(gateway, "block");
  const { stuck, heedless, channel, consumer } = the;
  await beside(stuck, "drop-oldest");
  for (let n = 1; n <= 9; n++) the.raise(n);
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: false });
  stuck.say({ kind: "CloseEndpoint", endpoint: consumer });
  expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: true });
  expect(gateway.stats().blocking).toBe(0);
  for (let n = 10; n <= 20; n++) the.raise(n);
  await heedless.isAlive();
  expect(heedless.frames.map(({ kind }) => kind)).not.toContain("Flow");
  stuck.say({ kind: "Flow", derived: channel, ready: true });
  const { events } = await stuck.next("Dropped");
  for (let n = Number(events) + 1; n <= 20; n++) await stuck.next("Events");
});

test("SLOW-2: a consumer that comes while its process does not keep up has its policy hold, and again when that is behind anew", async () => {
  await using gateway = await createGateway();
  await using the = await stuckAndHeedless(gateway, "drop-oldest");
  const { stuck, heedless, channel } = the;
  the.raise(1);
  await heedless.isAlive();
  await beside(stuck, "block");
  for (const first of [2, 11]) {
    for (let n = first; n < first + 9; n++) the.raise(n);
    expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: false });
    stuck.say({ kind: "Flow", derived: channel, ready: true });
    expect(await heedless.next("Flow")).toMatchObject({ derived: channel, ready: true });
    for (let n = first; n < first + 9; n++) await stuck.next("Events");
    stuck.say({ kind: "Flow", derived: channel, ready: false });
    await stuck.isAlive();
  }
  expect(stuck.frames.map(({ kind }) => kind)).not.toContain("Dropped");
});

/** Mebibytes that wait in all queues, as operators see it. */
const waitingMiB = (gateway: Gateway): number => Math.round(gateway.stats().queueBytes / (1 << 20));

test("SLOW-1: when too much waits for all together, whom most waits for loses the oldest, and others lose nothing", async () => {
  await using gateway = await createGateway({ queueTotalBytes: 8.5 * 2 ** 20 });
  await using most = await stuckAndHeedless(gateway, "drop-oldest", "most");
  await using little = await stuckAndHeedless(gateway, "drop-oldest", "little");
  await using some = await stuckAndHeedless(gateway, "drop-oldest", "some");
  little.raise(1);
  await little.heedless.isAlive();
  for (let n = 1; n <= 6; n++) most.raise(n);
  await most.heedless.isAlive();
  expect(waitingMiB(gateway)).toBe(7);
  for (let n = 1; n <= 3; n++) some.raise(n);
  await some.heedless.isAlive();
  await expect.poll(() => gateway.stats().queueBytes).toBeLessThanOrEqual(8.5 * 2 ** 20);
  for (const { stuck, channel } of [most, little, some])
    stuck.say({ kind: "Flow", derived: channel, ready: true });
  const { events } = await most.stuck.next("Dropped");
  for (let n = Number(events) + 1; n <= 6; n++) await most.stuck.next("Events");
  expect(events).toBeLessThan(6n);
  await little.stuck.next("Events");
  for (let n = 1; n <= 3; n++) await some.stuck.next("Events");
  await expect.poll(() => gateway.stats().queueBytes).toBe(0);
  for (const { stuck } of [little, some])
    expect(stuck.frames.map(({ kind }) => kind)).not.toContain("Dropped");
});

test.each(["disconnect", "block"] as const)(
  "SLOW-1: when too much waits for all together, whom most waits for with the policy %s goes by that",
  async whenFull => {
    await using gateway = await createGateway({ queueTotalBytes: 7.5 * 2 ** 20 });
    await using most = await stuckAndHeedless(gateway, whenFull, "most");
    await using little = await stuckAndHeedless(gateway, whenFull, "little");
    for (let n = 1; n <= 7; n++) most.raise(n);
    await most.heedless.isAlive();
    little.raise(1);
    if (whenFull === "disconnect")
      expect(await most.stuck.next("ConsumerLost")).toMatchObject({ code: ERRORS.SLOW_CONSUMER[0] });
    else expect(await most.heedless.next("Flow")).toMatchObject({ derived: most.channel, ready: false });
    await little.heedless.isAlive();
    await little.stuck.isAlive();
    const told = [...little.stuck.frames, ...little.heedless.frames].map(({ kind }) => kind);
    expect(told).not.toContain("ConsumerLost");
    expect(told).not.toContain("Flow");
  },
);

test("SLOW-1: who blocks and does not wait cannot fill the gateway from many connections", async () => {
  await using gateway = await createGateway({ queueTotalBytes: 1 << 20 });
  const all = await Promise.all(["a", "b", "c"].map(name => stuckAndHeedless(gateway, "block", name)));
  for (let n = 1; n <= 30; n++) for (const { raise } of all) raise(n);
  await Promise.all(all.map(({ heedless }) => heedless.isAlive()));
  await expect.poll(() => waitingMiB(gateway)).toBeLessThanOrEqual(65);
  await Promise.all(all.map(one => one[Symbol.asyncDispose]()));
});

test("SLOW-1: an event that waits for many counts once", async () => {
  await using gateway = await createGateway({ queueTotalBytes: 8 << 20 });
  const all = [];
  for (let i = 0; i < 5; i++) all.push(await stuckAndHeedless(gateway, "drop-oldest"));
  const [first] = all as [(typeof all)[0]];
  for (let n = 1; n <= 4; n++) first.raise(n);
  await first.heedless.isAlive();
  expect(waitingMiB(gateway)).toBe(4);
  for (const { stuck, channel } of all) stuck.say({ kind: "Flow", derived: channel, ready: true });
  for (const { stuck } of all) for (let n = 1; n <= 4; n++) await stuck.next("Events");
  await expect.poll(() => gateway.stats().queueBytes).toBe(0);
  await Promise.all(all.map(one => one[Symbol.asyncDispose]()));
});
