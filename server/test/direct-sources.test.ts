import type { Gateway } from "@jecho/server";
import { FROM, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawProducer, schema, start } from "./installing-rig.ts";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

/* Producers that publish straight into a derived channel. Each has three usual events, and no urgent ones. */

const DIRECT = 70n;
/** A consumer that was at an earlier gateway, of which nothing is known here. */
const resume = { from: FROM.resume, epoch: 1, seq: 5n, at: 0, speed: 0 };
const OPEN = { kind: "OpenConsumer", request: 1, channel: "a", schema } as const;
const BETWEEN = { ...OPEN, modulator, as: "x" } as const;
const BEHIND = { ...OPEN, channel: "a#x", modulator: { ...modulator, key: "behind" } } as const;

/** Its last position, and that of who is behind, where no modulator has been through its events. */
const LAST = { source: DIRECT, origin: 0n, raised: 3n };
const UNMADE = { source: DIRECT, origin: DIRECT, raised: 3n, through: 3n };

async function opens(gateway: Gateway, request: Outgoing, installing?: RawProducer): Promise<RawClient> {
  const consumer = await RawClient.connect(gateway);
  consumer.say(request);
  await installing?.installs();
  await consumer.next("ConsumerOpened");
  return consumer;
}

/** A process had such a producer at an earlier gateway, and closed it there. */
async function departs(gateway: Gateway): Promise<RawClient> {
  const process = await RawClient.connect(gateway);
  const counts = { raised: 3n, raisedUrgent: 0n, agoMs: 10 };
  process.say({ kind: "Departed", channel: "a#x", source: DIRECT, ...counts });
  await process.isAlive();
  return process;
}

/** A producer that raised its events, and whose process has the modulator behind installed.*/
async function raises(gateway: Gateway): Promise<RawProducer> {
  const direct = await RawProducer.open(gateway, { source: DIRECT, channel: "a#x" });
  await direct.installs();
  await direct.isOpen();
  const { channel } = direct;
  const names = { channel, producer: direct.number, urgent: false, source: DIRECT, origin: 0n };
  direct.say({ kind: "Position", ...names, process: 0, by: "", raised: 0n, after: 0n, through: 0n });
  const events = Array<Uint8Array>(3).fill(new Uint8Array(8));
  direct.send(encodedRun({ channel, producer: direct.number, raised: 1 }, ...events));
  return direct;
}

test("DEL-12, CHAN-9: who comes back to another gateway is told of one that was closed at the former one, by its process", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using between = await opens(gateway, { ...BETWEEN, from: resume }, other);
  using behind = await opens(gateway, { ...BEHIND, from: resume }, other);
  using _ = await departs(gateway);
  expect(await between.next("Position")).toMatchObject(LAST);
  expect(await behind.next("Position")).toMatchObject(UNMADE);
});

test("DEL-12, CHAN-9: the same where that process was there first", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using _ = await departs(gateway);
  using between = await opens(gateway, { ...BETWEEN, from: resume }, other);
  using behind = await opens(gateway, { ...BEHIND, from: resume }, other);
  expect(await between.next("Position")).toMatchObject(LAST);
  expect(await behind.next("Position")).toMatchObject(UNMADE);
});

test("PROV-5, CHAN-9: of one that closes, who is behind is told what the modulator there has not been through", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using between = await opens(gateway, BETWEEN, other);
  using behind = await opens(gateway, BEHIND, other);
  using direct = await raises(gateway);
  expect(await between.next("Events")).toMatchObject({ count: 3 });
  direct.say({ kind: "CloseEndpoint", endpoint: direct.number });
  await direct.isAlive();
  await expect.poll(() => behind.next("Position")).toMatchObject(UNMADE);
});

test("PROV-5, CHAN-9: the same of one that is cut off, once it may not come back any more", async () => {
  await using gateway = await start({ resumeWindowMs: 100 });
  using other = await RawProducer.open(gateway);
  using between = await opens(gateway, BETWEEN, other);
  using behind = await opens(gateway, BEHIND, other);
  using direct = await raises(gateway);
  expect(await between.next("Events")).toMatchObject({ count: 3 });
  await direct.cut();
  await expect.poll(() => behind.next("Position")).toMatchObject(UNMADE);
});
