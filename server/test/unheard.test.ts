import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Gateway, GatewayOptions } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { FROM, type OpenConsumer, type Outgoing, PROTOCOL } from "@jecho/shared/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { RawProducer, schema, start } from "./installing-rig.ts";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const RAW = 70n;
const MADE = (1n << 32n) + 7n;
/** A consumer that was at an earlier gateway, of which nothing is known here. */
const resume = { from: FROM.resume, epoch: 1, seq: 5n, at: 0, speed: 0 };
const OPEN = { kind: "OpenConsumer", request: 1, channel: "a", schema } as const;

function open(client: RawClient, more: Partial<OpenConsumer>): void {
  client.say({ ...OPEN, ...more });
}

const at = (producer: RawProducer, raised: bigint, source = RAW): Outgoing => ({
  kind: "Position",
  channel: producer.channel,
  producer: producer.number,
  urgent: false,
  source,
  origin: 0n,
  raised,
  after: 0n,
  through: 0n,
  process: 0,
  by: "",
});

function raise(producer: RawProducer, channel: number, events: number, made = {}): void {
  const header = { channel, producer: producer.number, raised: 1, ...made };
  producer.send(encodedRun(header, ...Array(events).fill(new Uint8Array(8))));
}

/** A producer that says where it is, and raises so many events. */
async function raising(gateway: Gateway, events: number, source = RAW): Promise<RawProducer> {
  const producer = await RawProducer.open(gateway, { source });
  producer.say(at(producer, 0n, source));
  raise(producer, producer.channel, events);
  await producer.isAlive();
  return producer;
}

/** A consumer with a modulator that this producer has installed. */
async function consumerOf(gateway: Gateway, producer: RawProducer): Promise<RawClient> {
  const consumer = await RawClient.connect(gateway);
  open(consumer, { modulator });
  await producer.installs();
  await consumer.next("ConsumerOpened");
  return consumer;
}

/** A consumer is told that a source begins: of its events, of its urgent ones, and again where it raises its first. */
async function hearsBegin(consumer: RawClient, lanes = [false, true, false]): Promise<void> {
  for (const urgent of lanes)
    expect(await consumer.next("Position")).toMatchObject({ origin: RAW, raised: 0n, through: 0n, urgent });
}

async function closes(producer: RawProducer): Promise<void> {
  producer.say({ kind: "CloseEndpoint", endpoint: producer.number });
  await producer.isAlive();
}

test("DEL-12: who comes back to another gateway is told of a producer that went there before it with events that nobody wanted", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using producer = await RawProducer.open(gateway, { source: RAW });
  producer.say(at(producer, 3n));
  await closes(producer);
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: resume });
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ unknown: true });
  expect(await consumer.next("Position")).toMatchObject({ source: RAW, raised: 3n, origin: 0n });
  await other.isAlive();
});

test("DEL-12: who comes back to another gateway is told of a producer that came and went there before it", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  await closes(await raising(gateway, 3));
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: resume });
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ unknown: true });
  expect(await consumer.next("Position")).toMatchObject({ source: RAW, raised: 3n, origin: 0n });
  await other.isAlive();
});

test("PROV-5: so is one with a modulator, which was not there either", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  await closes(await raising(gateway, 3));
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: resume, modulator });
  await other.installs();
  await consumer.next("ConsumerOpened");
  expect(await consumer.next("Position")).toMatchObject({
    source: RAW,
    origin: RAW,
    raised: 3n,
    through: 3n,
  });
});

test("PROV-5: so is one whose modulator was there, behind those events, and let nothing through of what came then", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using producer = await RawProducer.open(gateway, { source: RAW });
  using first = await RawClient.connect(gateway);
  open(first, { modulator });
  await other.installs();
  const derived = await producer.installs();
  await first.next("ConsumerOpened");
  const behind = {
    ...at(producer, 0n),
    channel: derived,
    source: MADE,
    origin: RAW,
    after: 3n,
    through: 3n,
  } as Outgoing;
  producer.say(at(producer, 3n), behind);
  await closes(producer);
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: resume, modulator });
  await consumer.next("ConsumerOpened");
  expect(await consumer.next("Position")).toMatchObject({
    source: MADE,
    origin: RAW,
    after: 3n,
    through: 3n,
  });
});

test("PROV-5: so is one whose channel is kept, but not up to there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    const historyFile = join(folder, "history.sqlite");
    const kept = {
      source: RAW,
      history: { events: 0, seconds: 600, latest: false, onDemand: false, durable: false },
    };
    let place = resume;
    {
      await using gateway = await start({ historyFile });
      using producer = await RawProducer.open(gateway, kept);
      using consumer = await RawClient.connect(gateway);
      open(consumer, { modulator });
      const derived = await producer.installs();
      const { epoch } = await consumer.next("ConsumerOpened");
      producer.say(at(producer, 0n), {
        ...at(producer, 0n),
        channel: derived,
        source: MADE,
        origin: RAW,
      } as Outgoing);
      raise(producer, producer.channel, 2);
      raise(producer, derived, 1, { after: 0, through: 2 });
      const { seq } = await consumer.next("Events");
      place = { ...resume, epoch, seq: BigInt(seq) };
    }
    await using gateway = await start({ historyFile });
    using other = await RawProducer.open(gateway);
    using producer = await RawProducer.open(gateway, kept);
    producer.say(at(producer, 2n));
    raise(producer, producer.channel, 3, { raised: 3 });
    await closes(producer);
    using consumer = await RawClient.connect(gateway);
    open(consumer, { from: place, modulator });
    await other.installs();
    await consumer.next("ConsumerOpened");
    expect(await consumer.next("Position")).toMatchObject({ source: RAW, origin: RAW, raised: 5n });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const history = { events: 0, seconds: 600, latest: false, onDemand: false, durable: false };

/** Calls back with the options of gateways that have one history after the other. */
async function withHistory(
  act: (options: { readonly historyFile: string; readonly resumeWindowMs: number }) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    await act({ historyFile: join(folder, "history.sqlite"), resumeWindowMs: 200 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The place of a consumer that had no event at this gateway. */
async function placeAt(gateway: Gateway): Promise<typeof resume> {
  using producer = await RawProducer.open(gateway, { source: RAW + 1n, history });
  using consumer = await RawClient.connect(gateway);
  open(consumer, { modulator });
  await producer.installs();
  const { epoch } = await consumer.next("ConsumerOpened");
  return { ...resume, epoch, seq: 0n };
}

/** The first position of which that consumer is told at another gateway. */
async function toldAt(gateway: Gateway, place: typeof resume) {
  using other = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: place, modulator });
  await other.installs();
  await consumer.next("ConsumerOpened");
  return await consumer.next("Position");
}

/** A gateway ends with a producer of three events, and a consumer. @returns the consumer's place, before any event */
async function endsSuddenly(options: GatewayOptions): Promise<typeof resume> {
  await using gateway = await start(options);
  const place = await placeAt(gateway);
  using producer = await RawProducer.open(gateway, { source: RAW, history });
  producer.say(at(producer, 0n));
  raise(producer, producer.channel, 3);
  await producer.isAlive();
  return place;
}

test("PROV-5: so is one that comes back to a third gateway, where the producer came and went at the second", async () => {
  await withHistory(async options => {
    let place = resume;
    {
      await using gateway = await start(options);
      place = await placeAt(gateway);
    }
    {
      await using gateway = await start(options);
      using producer = await RawProducer.open(gateway, { source: RAW, history });
      producer.say(at(producer, 0n));
      raise(producer, producer.channel, 3);
      await closes(producer);
    }
    await using gateway = await start(options);
    expect(await toldAt(gateway, place)).toMatchObject({ source: RAW, origin: RAW, raised: 3n });
  });
});

test("PROV-5: so is one whose own gateway ended before it had told that the producer has gone; it is told how long ago that was", async () => {
  await withHistory(async options => {
    const place = await endsSuddenly(options);
    await using gateway = await start(options);
    const end = await toldAt(gateway, place);
    expect(end).toMatchObject({ source: RAW, origin: RAW, raised: 3n });
    expect(end.agoMs).toBeGreaterThan(0);
  });
});

test("PROV-5: so is one that ended longer ago than the frame can say, or before the clock was set", async () => {
  await withHistory(async options => {
    const place = await endsSuddenly(options);
    const systemNow = Date.now;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => systemNow() + 2 ** 32);
    onTestFinished(() => clock.mockRestore());
    await using gateway = await start(options);
    expect(await toldAt(gateway, place)).toMatchObject({ source: RAW, raised: 3n, agoMs: 2 ** 32 - 1 });
  });
});

test("PROV-5: what a producer raised that goes before it has answered to an installation is told to its consumers", async () => {
  await using gateway = await start({ installTimeoutMs: 1 });
  using other = await RawProducer.open(gateway);
  using consumer = await consumerOf(gateway, other);
  using silent = await raising(gateway, 3);
  await silent.install();
  await hearsBegin(consumer);
  await closes(silent);
  expect(await consumer.next("Position")).toMatchObject({
    source: RAW,
    origin: RAW,
    raised: 3n,
    through: 3n,
  });
});

test("PROV-5: one that was cut off may come back: its consumers are told when it is waited for no more", async () => {
  await using gateway = await start({ installTimeoutMs: 1, resumeWindowMs: 300 });
  using other = await RawProducer.open(gateway);
  using consumer = await consumerOf(gateway, other);
  const silent = await raising(gateway, 3);
  await silent.install();
  await hearsBegin(consumer);
  await silent.cut();
  expect(await consumer.next("Position")).toMatchObject({ source: RAW, origin: RAW, raised: 3n });
});

test("PROV-5: one that is back in time has not ended, also where nobody takes its events yet", async () => {
  await using gateway = await start({ installTimeoutMs: 1, resumeWindowMs: 300 });
  using other = await RawProducer.open(gateway);
  using consumer = await consumerOf(gateway, other);
  const silent = await raising(gateway, 3);
  await silent.install();
  await silent.cut();
  using back = await RawProducer.open(gateway, { source: RAW, raised: 3n });
  // The end of another one is told, which was cut off later and is not back.
  const later = await raising(gateway, 5, 71n);
  await later.install();
  await later.cut();
  const ended = () =>
    consumer.frames.flatMap(frame => (frame.kind === "Position" && frame.raised > 0n ? [frame.source] : []));
  await expect.poll(ended).toEqual([71n]);
  // The producer may be cut off again before it has said anything.
  await back.cut();
  await expect.poll(ended).toEqual([71n, RAW]);
});

test("DEL-6: what is made for one that comes back, while its modulator is being installed elsewhere, is kept for it", async () => {
  await using gateway = await start();
  using quick = await RawProducer.open(gateway, { source: RAW });
  using slow = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  open(consumer, { from: resume, modulator });
  const derived = await quick.installs();
  const { request } = await slow.install();
  await expect
    .poll(() =>
      quick.frames.some(
        frame => frame.kind === "Demand" && frame.consumers === 1 && frame.channel === derived,
      ),
    )
    .toBe(true);
  quick.say({ ...at(quick, 0n), channel: derived, source: MADE, origin: RAW } as Outgoing);
  raise(quick, derived, 2, { after: 0, through: 9 });
  await quick.isAlive();
  slow.say({ kind: "Installed", request, derived, schema, needs: [], reads: schema });
  const { replay } = await consumer.next("ConsumerOpened");
  expect(await consumer.next("Position")).toMatchObject({ source: MADE, raised: 0n });
  expect(await consumer.next("Events")).toMatchObject({ channel: replay, raised: 1, count: 2, through: 9 });
  await consumer.next("Replayed");
});

test("PROV-5: a new consumer is told where a source is that its modulator has not begun with, and so misses what comes before it does", async () => {
  await using gateway = await start({ installTimeoutMs: 1 });
  using other = await RawProducer.open(gateway);
  using silent = await raising(gateway, 3);
  using consumer = await RawClient.connect(gateway);
  open(consumer, { modulator });
  await silent.install();
  await other.installs();
  await consumer.next("ConsumerOpened");
  expect(await consumer.next("Position")).toMatchObject({
    source: RAW,
    origin: RAW,
    raised: 0n,
    after: 3n,
    through: 3n,
  });
});

test("MOE-8, PROV-5: who changes its modulator is told of a source that has ended, though its request does not name it", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using first = await consumerOf(gateway, other);
  using producer = await RawProducer.open(gateway, { source: RAW });
  const derived = await producer.installs();
  const made = { channel: derived, source: MADE, origin: RAW };
  producer.say(at(producer, 0n), { ...at(producer, 0n), ...made } as Outgoing);
  raise(producer, derived, 2, { after: 0, through: 3 });
  await closes(producer);
  expect(await first.next("Events")).toMatchObject({ channel: derived, count: 2 });
  using consumer = await RawClient.connect(gateway);
  open(consumer, {});
  const { epoch } = await consumer.next("ConsumerOpened");
  open(consumer, { request: 2, modulator, from: { ...resume, from: FROM.now, epoch } });
  await consumer.next("ConsumerOpened");
  expect(await consumer.next("Position")).toMatchObject({
    source: MADE,
    origin: RAW,
    raised: 2n,
    through: 3n,
  });
});

test.for([false, true])(
  "SLOW-3: the first word on a source passes what waits for a process that takes nothing for now (modulated: %o)",
  async isModulated => {
    await using gateway = await start();
    using other = await RawProducer.open(gateway);
    using consumer = await RawClient.connect(gateway);
    open(consumer, isModulated ? { modulator } : {});
    if (isModulated) await other.installs();
    const { channel } = await consumer.next("ConsumerOpened");
    consumer.say({ kind: "Flow", derived: channel, ready: false });
    await consumer.isAlive();
    raise(other, channel, 1);
    await other.isAlive();
    using producer = await RawProducer.open(gateway, { source: RAW });
    if (!isModulated) producer.say(at(producer, 0n));
    expect(await consumer.next("Position")).toMatchObject({ source: RAW, raised: 0n });
    expect(consumer.frames.map(({ kind }) => kind)).not.toContain("Events");
    consumer.say({ kind: "Flow", derived: channel, ready: true });
    await consumer.next("Events");
  },
);

test("PROV-5: who comes while a producer has raised nothing is told where it begins, though its modulator answers later", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using other = await RawProducer.open(gateway);
  using producer = await RawProducer.open(gateway, { source: RAW });
  using plain = await RawClient.connect(gateway);
  open(plain, {});
  await plain.next("ConsumerOpened");
  using consumer = await RawClient.connect(gateway);
  open(consumer, { modulator });
  await other.installs();
  await consumer.next("ConsumerOpened");
  producer.say(at(producer, 0n));
  raise(producer, producer.channel, 3);
  await hearsBegin(consumer, [false]);
  const derived = await producer.installs();
  const made = { channel: derived, source: MADE, origin: RAW, after: 3n, through: 3n };
  producer.say({ ...at(producer, 0n), ...made } as Outgoing);
  expect(await consumer.next("Position")).toMatchObject({ source: MADE, after: 3n });
  producer.say(at(producer, 3n));
  producer.say(at(producer, 4n));
  await producer.isAlive();
  await consumer.isAlive();
  expect(consumer.frames.map(({ kind }) => kind)).not.toContain("Position");
});

test("PROV-5, CHAN-9: consumers behind a derived channel are told where a source begins that is published into it, then and when they come", async () => {
  await using gateway = await start();
  using other = await RawProducer.open(gateway);
  using between = await RawClient.connect(gateway);
  open(between, { modulator, as: "x" });
  const derived = await other.installs();
  await between.next("ConsumerOpened");
  using consumer = await RawClient.connect(gateway);
  const behind = { channel: "a#x", modulator: { ...modulator, key: "behind" } };
  open(consumer, behind);
  await other.installs();
  await consumer.next("ConsumerOpened");
  using direct = await RawProducer.open(gateway, { source: RAW, channel: "a#x" });
  await direct.refuses(ERRORS.SERVICE_MISSING[0]);
  direct.say({ ...at(direct, 0n), channel: derived } as Outgoing);
  raise(direct, derived, 3);
  await hearsBegin(consumer, [false]);
  expect(await between.next("Events")).toMatchObject({ channel: derived, count: 3 });
  using later = await RawClient.connect(gateway);
  open(later, behind);
  await later.next("ConsumerOpened");
  expect(await later.next("Position")).toMatchObject({ source: RAW, origin: RAW, raised: 0n, through: 3n });
});

/** A consumer whose modulator runs beside the gateway, for a producer of three events of which the modulator has been through the first. */
async function besideGateway() {
  let token = "";
  const gateway = await start({
    resumeWindowMs: 200,
    modulating: (_, shown) => {
      token = shown;
      return { ready: Promise.resolve(), close: () => Promise.resolve() };
    },
  });
  const beside = await RawClient.connect(gateway, false);
  beside.say({ kind: "Hello", protocol: PROTOCOL, name: "", modulating: token });
  await beside.next("Welcome");
  const producer = await RawProducer.open(gateway, { source: RAW, modulates: false });
  const consumer = await RawClient.connect(gateway);
  open(consumer, { modulator });
  const { request, derived } = await beside.next("Install");
  const installed = { schema, needs: [], reads: schema, cpuMs: 0, tier: "", tierWhy: "" };
  beside.say({ kind: "Installed", request, derived, ...installed });
  let asked = 0;
  while (asked === 0) asked = (await producer.next("Demand")).request;
  producer.say({ kind: "Noted", request: asked });
  await consumer.next("ConsumerOpened");
  producer.say(at(producer, 0n));
  raise(producer, producer.channel, 3);
  await producer.isAlive();
  await hearsBegin(consumer, [false]);
  const made = { ...at(producer, 1n), channel: derived, source: MADE, origin: RAW, through: 1n };
  beside.say(made as Outgoing);
  expect(await consumer.next("Position")).toMatchObject({ source: MADE, origin: RAW, through: 1n });
  return {
    ...{ gateway, beside, producer, consumer, derived },
    async [Symbol.asyncDispose]() {
      for (const client of [beside, producer, consumer]) client[Symbol.dispose]();
      await gateway.close();
    },
  };
}

test.for([true, false])(
  "PROV-5: where the process beside the gateway goes with events of a producer that has gone, their consumer is told (cut off: %o)",
  async isCut => {
    await using rig = await besideGateway();
    if (isCut) await rig.producer.cut();
    else await closes(rig.producer);
    await rig.beside.cut();
    expect(await rig.consumer.next("Position")).toMatchObject({ source: RAW, origin: RAW, raised: 3n });
  },
);

test("PROV-6: what is made of a producer that has gone comes with its source, for those who listen since then", async () => {
  await using rig = await besideGateway();
  const { gateway, beside, producer, derived } = rig;
  await producer.cut();
  using later = await RawClient.connect(gateway);
  open(later, { modulator });
  await later.next("ConsumerOpened");
  const made = { channel: derived, producer: producer.number, raised: 2, after: 1, through: 2 };
  beside.send(encodedRun(made));
  const position = { producer: producer.number, source: MADE, origin: RAW, raised: 1n, through: 1n };
  expect(await later.next("Position")).toMatchObject(position);
  expect(await later.next("Events")).toMatchObject({ producer: producer.number, raised: 2 });
});

test("DEL-2: events that were sent for a consumer that has left do not come to one that was not told where it begins", async () => {
  await using gateway = await start();
  await using producer = await raising(gateway, 3);
  await using first = await RawClient.connect(gateway);
  open(first, {});
  const { consumer } = await first.next("ConsumerOpened");
  producer.say(at(producer, 3n));
  raise(producer, producer.channel, 1, { raised: 4 });
  await first.next("Events");
  first.say({ kind: "CloseEndpoint", endpoint: consumer });
  // By then its producer is told that nobody listens, and has sent more.
  await first.isAlive();
  await using second = await RawClient.connect(gateway);
  open(second, {});
  await second.next("ConsumerOpened");
  raise(producer, producer.channel, 2, { raised: 5 });
  producer.say(at(producer, 6n));
  raise(producer, producer.channel, 1, { raised: 7 });
  await producer.isAlive();
  expect(await second.next("Events", "Position")).toMatchObject({ kind: "Position", raised: 6n });
  expect(await second.next("Events", "Position")).toMatchObject({ raised: 7 });
});
