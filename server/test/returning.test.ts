import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway } from "@jecho/server";
import { encodeControl, FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const history = { events: 100, seconds: 0, latest: false, onDemand: true, durable: false };
const OPENING = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator } as const;
const EVENTS = 3;

async function produce(gateway: Gateway): Promise<RawClient & { readonly number: number }> {
  const producer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true, history });
  const { producer: number } = await producer.next("ProducerOpened");
  return Object.assign(producer, { number });
}

/** The producer installs what it is asked to. @returns the derived channel */
async function install(producer: RawClient): Promise<number> {
  const { request, derived } = await producer.next("Install");
  producer.say({ kind: "Installed", request, derived, schema, needs: [], reads: schema });
  return derived;
}

/** A consumer with the modulator, whom nobody was before. */
async function consume(gateway: Gateway, producer: RawClient) {
  const client = await RawClient.connect(gateway);
  client.say(OPENING);
  const derived = await install(producer);
  const { consumer, epoch } = await client.next("ConsumerOpened");
  return Object.assign(client, { derived, consumer, epoch });
}

interface Left {
  readonly historyFile: string;
  /** Of a consumer that has handled the first of three events. */
  readonly place: { readonly epoch: number; readonly seq: bigint };
}

/** A gateway that has ended, and what is left of it. */
async function withLeft(act: (left: Left) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    await act({ historyFile, place: await placeAt(historyFile) });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function placeAt(historyFile: string): Promise<Left["place"]> {
  await using gateway = await createGateway({ historyFile });
  using producer = await produce(gateway);
  using consumer = await consume(gateway, producer);
  const events = Array.from({ length: EVENTS }, (_, i) => Uint8Array.of(i, 0, 0, 0, 0, 0, 0, 0));
  const header = { channel: consumer.derived, producer: producer.number, raised: 1 };
  producer.send(encodedRun(header, ...events));
  const { seq } = await consumer.next("Events");
  return { epoch: consumer.epoch, seq: BigInt(seq) };
}

/** It asks for what is behind its place. */
function returning(place: Left["place"]): Uint8Array {
  return encodeControl({ ...OPENING, from: { ...place, from: FROM.resume, at: 0, speed: 0 } });
}

/** It comes back, and is sent what it has not had. */
async function comesBack(gateway: Gateway, place: Left["place"], channel: number): Promise<void> {
  using back = await RawClient.connect(gateway);
  back.send(returning(place));
  const opened = await back.next("ConsumerOpened");
  expect(opened).toMatchObject({ recovered: true, missing: 0n, channel, seq: place.seq + 1n });
  expect(await back.next("Events")).toMatchObject({ channel: opened.replay, seq: 1, count: EVENTS });
}

test("DEL-7, HIST-5: who is cut off again while its modulator is being installed at the next gateway finds its past there when it comes back", () =>
  withLeft(async ({ historyFile, place }) => {
    await using gateway = await createGateway({ historyFile, resumeWindowMs: 30_000 });
    using producer = await produce(gateway);
    const cut = await RawClient.connect(gateway);
    cut.send(returning(place));
    await expect.poll(() => producer.frames.some(({ kind }) => kind === "Install")).toBe(true);
    await cut.cut();
    const derived = await install(producer);
    await producer.isAlive();
    // It is sent for meanwhile.
    await expect
      .poll(() => producer.frames)
      .toContainEqual(expect.objectContaining({ kind: "Demand", channel: derived, consumers: 1 }));
    await comesBack(gateway, place, derived);
  }));

test("HIST-5: who comes back to the next gateway when others have come and left finds its past", () =>
  withLeft(async ({ historyFile, place }) => {
    await using gateway = await createGateway({ historyFile });
    using producer = await produce(gateway);
    using other = await consume(gateway, producer);
    other.say({ kind: "CloseEndpoint", endpoint: other.consumer });
    await other.isAlive();
    await comesBack(gateway, place, other.derived);
  }));

test("HIST-5: what nobody comes back for within the resume window goes", () =>
  withLeft(async ({ historyFile, place }) => {
    await using gateway = await createGateway({ historyFile, resumeWindowMs: 50 });
    using producer = await produce(gateway);
    using other = await consume(gateway, producer);
    other.say({ kind: "CloseEndpoint", endpoint: other.consumer });
    expect(await producer.next("Remove")).toMatchObject({ derived: other.derived });
    using late = await RawClient.connect(gateway);
    late.send(returning(place));
    await install(producer);
    expect(await late.next("ConsumerOpened")).toMatchObject({ recovered: false, replay: 0 });
  }));
