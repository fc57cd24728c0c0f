import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import {
  encodeControl,
  FLAG_SYNC,
  joinFrames,
  MOST_CONTROL_BYTES,
  type Outgoing,
  PROTOCOL,
} from "@jecho/shared/internal";
import { expect, test, vi } from "vitest";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const start = (options: GatewayOptions = {}): Promise<Gateway> => createGateway(options);

const NOTHING = new Uint8Array(0);

test("CON-1: Hello comes first, once, and with a version that the gateway speaks", async () => {
  await using gateway = await start();
  using early = await RawClient.connect(gateway, false);
  early.say({ kind: "Ping", time: 0 });
  expect(await early.closed).toMatchObject({
    code: 4502,
    reason: expect.stringContaining("FRAME_UNEXPECTED"),
  });
  using future = await RawClient.connect(gateway, false);
  future.say({ kind: "Hello", protocol: 99, name: "" });
  expect(await future.closed).toMatchObject({ code: 4503 });
  using twice = await RawClient.connect(gateway);
  twice.say({ kind: "Hello", protocol: PROTOCOL, name: "" });
  expect(await twice.closed).toMatchObject({ code: 4502 });
});

test.each<[string, Uint8Array | string, number]>([
  ["random bytes", Uint8Array.from({ length: 64 }, (_, i) => i * 37), 4500],
  ["text", "hello", 4500],
  ["a cut frame", encodeControl({ kind: "Ping", time: 0 }).slice(0, 16), 4500],
  ["a frame for clients", encodeControl({ kind: "Demand", channel: 1, consumers: 1 }), 4502],
  ["a frame for modulator hosts", encodeControl({ kind: "BaseType", channel: 1, schema: NOTHING }), 4502],
  ["a frame of modulator hosts", encodeControl({ kind: "Rate", derived: 1, mostPerSecond: 5 }), 4502],
])("WIRE-5, CON-5: %s ends that connection with a code, and nobody else's", async (_, message, code) => {
  await using gateway = await start();
  using bystander = await RawClient.connect(gateway);
  using offender = await RawClient.connect(gateway);
  offender.send(message);
  expect(await offender.closed).toMatchObject({ code });
  await bystander.isAlive();
});

test("WIRE-5, CON-7: a control message that is large ends its connection before it is taken apart, and a run of that size does not", async () => {
  await using gateway = await start();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const { channel, producer } = await client.next("ProducerOpened");
  client.send(encodedRun({ channel, producer, raised: 1 }, new Uint8Array(MOST_CONTROL_BYTES)));
  await client.isAlive();
  client.say({ kind: "WantTypes", request: 2, channel: "x".repeat(MOST_CONTROL_BYTES) });
  expect(await client.closed).toMatchObject({ code: ERRORS.FRAME_TOO_LARGE[0] });
});

test("CON-1: one that says nothing is let go of", async () => {
  await using gateway = await start({ requestTimeoutMs: 20 });
  using silent = await RawClient.connect(gateway, false);
  expect(await silent.closed).toMatchObject({ code: 4004 });
});

test("a message beyond the limit ends the connection", async () => {
  await using gateway = await start({ limitBytes: 1024 });
  using offender = await RawClient.connect(gateway);
  offender.send(new Uint8Array(4096));
  await offender.closed;
});

test("CHAN-3: the gateway stamps epoch and sequence number, and forwards the producer's very bytes", async () => {
  await using gateway = await start();
  using producer = await RawClient.connect(gateway);
  using consumer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  const opened = await producer.next("ProducerOpened");
  consumer.say({ kind: "OpenConsumer", request: 2, channel: "a", schema: NOTHING, modulator: undefined });
  const { channel, epoch, seq } = await consumer.next("ConsumerOpened");
  expect([channel, seq]).toEqual([opened.channel, 1n]);
  const run = (raised: number, ...events: number[][]): Uint8Array =>
    encodedRun(
      { channel, producer: opened.producer, raised },
      ...events.map(bytes => Uint8Array.from(bytes)),
    );
  producer.send(joinFrames([run(1, [1], [2, 3]), run(3, [4])]));
  const [first, second] = [await consumer.next("Events"), await consumer.next("Events")];
  expect([first.epoch, first.seq, first.count, second.seq]).toEqual([epoch, 1, 2, 3]);
  const expected = run(1, [1], [2, 3]);
  first.stamp(0, 0);
  expect(first.raw()).toEqual(expected);
});

test("CHAN-9: who publishes into a derived channel has no other channel than that, and nothing is left of it when it goes", async () => {
  await using gateway = await start();
  const before = gateway.stats();
  using consumer = await RawClient.connect(gateway);
  consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  const base = await consumer.next("ConsumerOpened");
  using direct = await RawClient.connect(gateway);
  const open = (request: number, channel: string): void =>
    direct.say({ kind: "OpenProducer", request, channel, schema: NOTHING, modulates: true });
  open(1, "a#x");
  const { channel, producer } = await direct.next("ProducerOpened");
  expect(await direct.next("Demand")).toMatchObject({ channel, consumers: 0 });
  const run = (channel: number): Uint8Array => encodedRun({ channel, producer, raised: 1 }, Uint8Array.of(1));
  // Nobody derives it: what it sends goes nowhere.
  direct.send(run(channel));
  await direct.isAlive();
  open(2, "a#no name");
  expect(await direct.next("Refused")).toMatchObject({ request: 2, code: 4510 });
  direct.send(run(base.channel));
  expect(await direct.closed).toMatchObject({ code: 4502 });
  expect(consumer.frames.filter(({ kind }) => kind === "Events")).toEqual([]);
  consumer.say({ kind: "CloseEndpoint", endpoint: base.consumer });
  await expect.poll(() => gateway.stats()).toMatchObject({ channels: before.channels });
});

test("events of an endpoint that was closed, or of another's number, reach nobody", async () => {
  await using gateway = await start();
  using producer = await RawClient.connect(gateway);
  using thief = await RawClient.connect(gateway);
  using consumer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  const opened = await producer.next("ProducerOpened");
  consumer.say({ kind: "OpenConsumer", request: 2, channel: "a", schema: NOTHING, modulator: undefined });
  await consumer.next("ConsumerOpened");
  const run = encodedRun({ channel: opened.channel, producer: opened.producer, raised: 1 }, Uint8Array.of(1));
  thief.send(run);
  await thief.isAlive();
  producer.say({ kind: "CloseEndpoint", endpoint: opened.producer });
  producer.send(run);
  await producer.isAlive();
  await consumer.isAlive();
  expect(consumer.frames.filter(({ kind }) => kind === "Events")).toEqual([]);
});

test("MOE-7: a run of a derived channel is taken from no process that has not installed its modulator", async () => {
  await using gateway = await start();
  using consumer = await RawClient.connect(gateway);
  consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING, modulator });
  const { channel: derived } = await consumer.next("ConsumerOpened");
  using thief = await RawClient.connect(gateway);
  thief.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  const { producer } = await thief.next("ProducerOpened");
  thief.send(encodedRun({ channel: derived, producer, raised: 1 }, Uint8Array.of(1)));
  expect(await thief.closed).toMatchObject({ code: 4502 });
  await consumer.isAlive();
  expect(consumer.frames.filter(({ kind }) => kind === "Events")).toEqual([]);
});

test("SYNC-6: an acknowledgement of an event that was not sent is answered by a fault", async () => {
  await using gateway = await start();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  const { channel } = await client.next("ConsumerOpened");
  client.say({ kind: "Ack", channel, seq: 1, consumers: 1, failed: 0, message: "" });
  expect(await client.next("Fault")).toMatchObject({ code: ERRORS.ACK_UNEXPECTED[0] });
  await client.isAlive();
});

test("SYNC-7: to give up waiting costs no more where many events are waited for", async () => {
  await using gateway = await start();
  using consumer = await RawClient.connect(gateway);
  using producer = await RawClient.connect(gateway);
  consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  await consumer.next("ConsumerOpened");
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const { channel, producer: number } = await producer.next("ProducerOpened");
  const giveUp = async (): Promise<number> => {
    const before = process.cpuUsage();
    const frame: Outgoing = { kind: "GiveUp", channel, producer: number, raised: 1_000_000n };
    producer.say(...Array.from({ length: 5000 }, () => frame));
    await producer.isAlive();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await giveUp();
  const before = Math.max(await giveUp(), await giveUp());
  const events = Array(1000).fill(new Uint8Array(8));
  for (let raised = 1; raised < 16_000; raised += 1000)
    producer.send(encodedRun({ channel, producer: number, raised, flags: FLAG_SYNC }, ...events));
  await producer.isAlive();
  expect(Math.min(await giveUp(), await giveUp())).toBeLessThan(4 * before);
  producer.say({ kind: "GiveUp", channel, producer: number, raised: 15_000n });
  expect(await producer.next("Processed")).toMatchObject({ raised: 15_000, missing: 1 });
});

test("a run of another type than its producer's ends the producer's connection", async () => {
  await using gateway = await start();
  using producer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  const { channel, producer: number } = await producer.next("ProducerOpened");
  producer.send(encodedRun({ channel, producer: number, raised: 1, token: 5n }, Uint8Array.of(1)));
  expect(await producer.closed).toMatchObject({ code: 4521 });
});

test.each([
  ["a bad channel name", { channel: "../etc", schema: NOTHING }, 4510],
  ["a schema that is none", { channel: "a", schema: Uint8Array.from({ length: 100 }, (_, i) => i) }, 4520],
])("WIRE-6: %s is refused with a code, and the connection goes on", async (_, request, code) => {
  await using gateway = await start();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "OpenProducer", request: 7, modulates: false, ...request });
  expect(await client.next("Refused")).toMatchObject({ request: 7, code });
  await client.isAlive();
});

test("MOE-9, and quotas: what cannot be served is refused with a code", async () => {
  await using gateway = await start({ modulatorsPerConnection: 1, endpointsPerConnection: 2 });
  using producer = await RawClient.connect(gateway);
  using consumer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  await producer.next("ProducerOpened");
  const open = (request: number, channel: string, key: string): void =>
    consumer.say({
      kind: "OpenConsumer",
      request,
      channel,
      schema: NOTHING,
      modulator: { ...modulator, key },
    });
  open(1, "a", "x");
  // The producer runs none: the consumer is asked to, and that does not, either.
  const { request, instead } = await consumer.next("Install");
  expect(instead).toMatchObject({ base: "a", own: true });
  consumer.say({ kind: "Refused", request, code: 4537, message: "" });
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: 4537 });
  open(2, "b", "x");
  await consumer.next("ConsumerOpened");
  open(3, "b", "y");
  expect(await consumer.next("Refused")).toMatchObject({ request: 3, code: 4536 });
  consumer.say({ kind: "OpenConsumer", request: 4, channel: "b", schema: NOTHING, modulator: undefined });
  await consumer.next("ConsumerOpened");
  consumer.say({ kind: "OpenConsumer", request: 5, channel: "c", schema: NOTHING, modulator: undefined });
  expect(await consumer.next("Refused")).toMatchObject({ request: 5, code: 4007 });
});

test("OBJ-4: only the connection with the master copy may update a shared object", async () => {
  await using gateway = await start();
  using owner = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const objects = [{ name: "view", object: "o1", version: 1, state: "{}", lazy: false }];
  const opening = { kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING } as const;
  owner.say({ ...opening, modulator: { ...modulator, objects } });
  await owner.next("ConsumerOpened");
  other.say({ kind: "ObjectUpdate", object: "o1", version: 9, state: "{}" });
  expect(await other.next("Fault")).toMatchObject({ code: 4540 });
  owner.say({ kind: "ObjectUpdate", object: "o1", version: 2, state: `"${"x".repeat(65_536)}"` });
  expect(await owner.next("Fault")).toMatchObject({ code: 4540 });
});

test("CHAN-2: nothing is left of channels that nobody uses", async () => {
  await using gateway = await start();
  {
    using client = await RawClient.connect(gateway);
    for (let i = 0; i < 100; i++) {
      client.say({
        kind: "OpenConsumer",
        request: i,
        channel: `c/${i}`,
        schema: NOTHING,
        modulator: undefined,
      });
    }
    // What there is no time for in one turn is opened in a later one.
    await expect.poll(() => gateway.stats()).toMatchObject({ connections: 1, channels: 100 });
  }
  await expect.poll(() => gateway.stats()).toMatchObject({ connections: 0, channels: 0, derivedChannels: 0 });
});

test("files of the folder are served, with their types, and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-static-"));
  try {
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), "<p>hello</p>");
    await writeFile(join(folder, "assets", "a.js"), "1");
    await writeFile(join(folder, "assets", "b.mjs"), "1");
    await writeFile(join(folder, "Höhe in km.txt"), "30");
    await using gateway = await start({ staticFolder: folder });
    const get = (path: string, headers = {}): Promise<Response> =>
      fetch(`http://${gateway.address}${path}`, { headers });
    const page = await get("/");
    expect(await page.text()).toBe("<p>hello</p>");
    expect(page.headers.get("content-type")).toContain("text/html");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    // To this gateway, and to no other.
    expect(policy).toContain(`connect-src 'self' ws://${gateway.address} wss://${gateway.address};`);
    // Both together let a page share memory with its workers.
    expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(page.headers.get("cross-origin-embedder-policy")).toBe("require-corp");
    expect((await get("/", { "if-none-match": page.headers.get("etag") ?? "" })).status).toBe(304);
    expect((await get("/assets/a.js")).headers.get("cache-control")).toContain("immutable");
    // Browsers run no module of another type.
    expect((await get("/assets/b.mjs")).headers.get("content-type")).toContain("text/javascript");
    // However the URL of a name is escaped.
    for (const path of ["/Höhe in km.txt", "/H%C3%B6he%20in%20km.txt"])
      expect(await (await get(path)).text()).toBe("30");
    // As curl -I and those that watch over servers ask.
    for (const [path, status, length] of [
      ["/", 200, 12],
      ["/nothing", 404, 23],
    ] as const) {
      const head = await fetch(`http://${gateway.address}${path}`, { method: "HEAD" });
      expect(head.status).toBe(status);
      expect(Number(head.headers.get("content-length"))).toBe(length);
      expect(await head.text()).toBe("");
    }
    // What is worth it goes compressed to who takes that; a fetch unpacks it.
    const long = "let here = 1;\n".repeat(1000);
    await writeFile(join(folder, "assets", "long.js"), long);
    await using packing = await start({ staticFolder: folder });
    const ask = (path: string, encodings: string): Promise<Response> =>
      fetch(`http://${packing.address}${path}`, { headers: { "accept-encoding": encodings } });
    const [packed, plain] = [
      await ask("/assets/long.js", "br;q=1.0, gzip;q=0.8, *;q=0.1"),
      await ask("/assets/long.js", "br, gzip;q=0"),
    ];
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(Number(packed.headers.get("content-length"))).toBeLessThan(long.length / 10);
    expect(plain.headers.get("content-encoding")).toBeNull();
    for (const response of [packed, plain]) {
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(await response.text()).toBe(long);
    }
    expect(packed.headers.get("etag")).not.toBe(plain.headers.get("etag"));
    expect((await ask("/assets/a.js", "gzip")).headers.get("content-encoding")).toBeNull();
    for (const path of [
      "/nothing",
      "/assets/../../etc/passwd",
      "/%2e%2e/etc/passwd",
      "/%2e%2e%2fetc/passwd",
      "/%ff",
    ])
      expect((await get(path)).status).toBe(404);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a taken port is refused in words", async () => {
  await using gateway = await start();
  await expect(start({ port: gateway.port })).rejects.toThrow(/port/);
});

test("GATEWAY_STOPPING: a gateway that closes tells its clients to come back", async () => {
  const gateway = await start();
  using client = await RawClient.connect(gateway);
  const closed = gateway.close();
  expect(await client.closed).toMatchObject({ code: 4000 });
  await closed;
});

test("CHAN-2: a channel that nobody could open is not there", async () => {
  await using gateway = await start();
  using client = await RawClient.connect(gateway);
  const opening = { kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING } as const;
  client.say({ ...opening, modulator: { ...modulator, source: "x".repeat(300 * 1024) } });
  await client.next("Refused");
  expect(gateway.stats()).toMatchObject({ channels: 0 });
});

test("HIST-1: a channel that was idle and is used again stays the one there is, however long it is used", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await using gateway = await start();
    using client = await RawClient.connect(gateway);
    const history = { events: 10, seconds: 0, latest: false, onDemand: false, durable: false };
    const open = async (request: number): Promise<{ channel: number; producer: number }> => {
      const asked = { request, channel: "a", schema: NOTHING, modulates: true, history } as const;
      client.say({ kind: "OpenProducer", ...asked });
      return client.next("ProducerOpened");
    };
    const { channel, producer } = await open(1);
    client.send(encodedRun({ channel, producer, raised: 1 }));
    client.say({ kind: "CloseEndpoint", endpoint: producer });
    expect(await open(2)).toMatchObject({ channel });
    // Longer than what an idle channel has is kept.
    vi.advanceTimersByTime(3_600_000);
    client.say({ kind: "OpenConsumer", request: 3, channel: "a", schema: NOTHING });
    expect(await client.next("ConsumerOpened")).toMatchObject({ channel });
  } finally {
    vi.useRealTimers();
  }
});
