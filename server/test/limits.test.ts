import { createGateway, createToken, createTokenKeys, type Gateway } from "@jecho/server";
import { ERRORS, type ErrorCode, encodeEvent } from "@jecho/shared";
import { typeFromFbs } from "@jecho/shared/fbs";
import { FROM, type Outgoing, PROTOCOL, type SharedState, tokenOf } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const consumer = { kind: "OpenConsumer", request: 1, channel: "a", schema } as const;
const producer = { kind: "OpenProducer", request: 1, channel: "a", schema } as const;

async function refuses(client: RawClient, opening: Outgoing, code: ErrorCode): Promise<void> {
  client.say(opening);
  expect(await client.next("Refused")).toMatchObject({ code: ERRORS[code][0] });
}

const long = (length: number): string => "x".repeat(length);

test.for<[what: string, opening: Outgoing, code: ErrorCode]>([
  ["a long label", { ...consumer, label: long(1025) }, "ARGUMENT_INVALID"],
  ["a long name of a field", { ...producer, key: long(257) }, "ARGUMENT_INVALID"],
  [
    "a long source",
    { ...consumer, modulator: { ...modulator, source: long(262_145) } },
    "MODULATOR_TOO_LARGE",
  ],
  [
    "long parameters",
    { ...consumer, modulator: { ...modulator, parameters: long(262_145) } },
    "MODULATOR_TOO_LARGE",
  ],
  [
    "many capabilities",
    { ...consumer, modulator: { ...modulator, capabilities: Array(30_000).fill(long(10)) } },
    "MODULATOR_TOO_LARGE",
  ],
  [
    "a capability too many",
    { ...consumer, modulator: { ...modulator, capabilities: Array.from({ length: 65 }, (_, i) => `c${i}`) } },
    "MODULATOR_TOO_LARGE",
  ],
  [
    "a shared object too many",
    {
      ...consumer,
      modulator: {
        ...modulator,
        objects: Array.from({ length: 65 }, (_, i) => {
          return { name: `o${i}`, object: `o${i}`, version: 1, state: "{}", lazy: false };
        }),
      },
    },
    "MODULATOR_TOO_LARGE",
  ],
  ["a large schema of a producer", { ...producer, schema: new Uint8Array((128 << 10) + 1) }, "TYPE_INVALID"],
  ["a large schema of a consumer", { ...consumer, schema: new Uint8Array((128 << 10) + 1) }, "TYPE_INVALID"],
])("%s is refused, and nothing is kept of it", async ([, opening, code]) => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  await refuses(client, opening, code);
  expect(gateway.stats()).toMatchObject({ channels: 0, derivedChannels: 0 });
});

test("OBJ-12: of shared objects a connection brings no more than it may, and none stays of a modulator that is refused", async () => {
  await using gateway = await createGateway({ objectsPerConnection: 4 });
  using maker = await RawClient.connect(gateway);
  maker.say({ ...producer, modulates: true });
  await maker.next("ProducerOpened");
  using client = await RawClient.connect(gateway);
  const objects = (names: string, state = "{}"): SharedState[] =>
    [...names].map(object => ({ name: object, object, version: 1, state, lazy: false }));
  const brings = (states: readonly SharedState[], source = ""): Outgoing => ({
    ...consumer,
    modulator: { ...modulator, source, objects: states },
  });
  const isThere = async (object: string): Promise<boolean> => {
    using other = await RawClient.connect(gateway);
    other.say({ kind: "OpenObject", request: 1, object });
    const answered = () => other.frames.find(({ kind }) => kind === "CopyUpdate" || kind === "Refused");
    await expect.poll(answered).toBeDefined();
    return answered()?.kind === "CopyUpdate";
  };
  await refuses(client, brings(objects("abcde")), "OVERLOADED");
  await refuses(client, brings([...objects("ab"), ...objects("c", "[]")]), "OBJECT_INVALID");
  for (const object of "abc") expect(await isThere(object)).toBe(false);
  client.say(brings(objects("abc"), "1"));
  const { request } = await maker.next("Install");
  maker.say({ kind: "Refused", request, code: ERRORS.MODULATOR_INVALID[0], message: "none of that" });
  expect(await client.next("Refused")).toMatchObject({ code: ERRORS.MODULATOR_INVALID[0] });
  for (const object of "abc") expect(await isThere(object)).toBe(false);
  client.say(brings(objects("ab"), "2"));
  const { request: asked, derived } = await maker.next("Install");
  maker.say({ kind: "Installed", request: asked, derived, schema, needs: [], reads: schema });
  const { consumer: number } = await client.next("ConsumerOpened");
  // An equal modulator that would read others: it is the one that is there.
  client.say(brings(objects("cd"), "2"));
  const second = await client.next("ConsumerOpened");
  for (const object of "ab") expect(await isThere(object)).toBe(true);
  for (const object of "cd") expect(await isThere(object)).toBe(false);
  await refuses(client, brings(objects("cde"), "3"), "OVERLOADED");
  for (const endpoint of [number, second.consumer]) client.say({ kind: "CloseEndpoint", endpoint });
  await client.isAlive();
  // What has gone does not count any more.
  client.say(brings(objects("wxyz"), "4"));
  await maker.next("Install");
});

test("CON-1: connections have a bound, all together and of one address", async () => {
  for (const options of [{ connections: 2 }, { connectionsPerAddress: 2 }]) {
    await using gateway = await createGateway(options);
    const clients = [await RawClient.connect(gateway), await RawClient.connect(gateway)];
    using third = await RawClient.connect(gateway, false);
    expect(await third.closed).toMatchObject({
      code: ERRORS.OVERLOADED[0],
      reason: expect.stringContaining("at most 2 connections"),
    });
    expect(gateway.stats().connections).toBe(2);
    clients[0]?.[Symbol.dispose]();
    await clients[0]?.closed;
    await expect.poll(() => gateway.stats().connections).toBe(1);
    using fourth = await RawClient.connect(gateway);
    await fourth.isAlive();
    clients[1]?.[Symbol.dispose]();
  }
});

test("CON-8: what the connections of an address send has a bound, however many there are, and however often they come", async () => {
  await using gateway = await createGateway({ framesPerSecond: 1 });
  using first = await RawClient.connect(gateway);
  using second = await RawClient.connect(gateway);
  const pings = (count: number): Outgoing[] => Array(count).fill({ kind: "Ping", time: 1 });
  first.say(...pings(4));
  await first.next("Pong");
  second.say(...pings(100));
  const over = {
    code: ERRORS.OVERLOADED[0],
    reason: expect.stringContaining("an address sends at most 1 frames a second (framesPerSecond)"),
  };
  expect(await second.closed).toMatchObject(over);
  using third = await RawClient.connect(gateway, false);
  third.say({ kind: "Hello", protocol: PROTOCOL }, ...pings(20));
  expect(await third.closed).toMatchObject(over);
  first.say(...pings(20));
  expect(await first.closed).toMatchObject(over);
});

test("CON-8: the bytes that an address sends have a bound", async () => {
  await using gateway = await createGateway({ bytesPerSecond: 1000 });
  using client = await RawClient.connect(gateway);
  const ping = { kind: "Ping", time: 1 } as const;
  for (let messages = 0; messages < 20; messages++) client.say(...Array(20).fill(ping));
  expect((await client.closed).reason).toContain("at most 1000 bytes a second (bytesPerSecond)");
});

test("CON-1: the connections of a subject have a bound", async () => {
  const { signing, checking } = await createTokenKeys();
  await using gateway = await createGateway({ connectionsPerSubject: 2, tokens: { keys: checking } });
  const enter = async (subject: string): Promise<RawClient> => {
    const client = await RawClient.connect(gateway, false);
    client.say({
      kind: "Hello",
      protocol: PROTOCOL,
      token: await createToken(signing, { subject, can: [] }),
    });
    return client;
  };
  const clients = [await enter("ana"), await enter("ana")];
  for (const client of clients) await client.next("Admitted");
  using third = await enter("ana");
  expect(await third.closed).toMatchObject({
    code: ERRORS.OVERLOADED[0],
    reason: expect.stringContaining("a subject has at most 2 connections"),
  });
  using bob = await enter("bob");
  await bob.next("Admitted");
  clients[0]?.[Symbol.dispose]();
  await clients[0]?.closed;
  await expect.poll(() => gateway.stats().connections).toBe(2);
  using fourth = await enter("ana");
  await fourth.next("Admitted");
  clients[1]?.[Symbol.dispose]();
});

test.for<
  [what: string, opens: (i: number) => Outgoing, answer: "ConsumerOpened" | "ProducerOpened" | "CopyUpdate"]
>([
  ["channels", i => ({ ...consumer, channel: `kept/${i}` }), "ConsumerOpened"],
  ["consumers", () => consumer, "ConsumerOpened"],
  ["types", i => ({ ...producer, channel: `kept/${i}`, schema: largeSchema(i) }), "ProducerOpened"],
  [
    "modulators",
    i => ({ ...consumer, modulator: { ...modulator, source: `${i}${long(2000)}` } }),
    "ConsumerOpened",
  ],
  [
    "shared objects",
    i => ({ kind: "OpenObject", request: 1, object: `o${i}`, version: 1, state: `{"x":"${long(2000)}"}` }),
    "CopyUpdate",
  ],
  [
    "copies of one",
    i => ({ kind: "OpenObject", request: 1, object: "o", version: i + 1, state: "{}" }),
    "CopyUpdate",
  ],
])(
  "CON-8: what is kept for an address has a bound: %s; when it has gone there is room again",
  async ([, opens, answer]) => {
    const most = 256 << 10;
    await using gateway = await createGateway({ keptBytes: most, resumeWindowMs: 0 });
    const open = async (client: RawClient, from = 0): Promise<number> => {
      for (let i = 0; ; i++) {
        client.say(opens(from + i));
        const answered = await client.next(answer, "Refused");
        client.frames.length = 0;
        if (answered.kind !== "Refused") continue;
        expect(answered).toMatchObject({
          code: ERRORS.OVERLOADED[0],
          message: expect.stringContaining("keptBytes"),
        });
        return i;
      }
    };
    using first = await RawClient.connect(gateway);
    const opened = await open(first);
    expect(opened).toBeGreaterThan(2);
    expect(opened).toBeLessThanOrEqual(most / 1024);
    using second = await RawClient.connect(gateway);
    expect(await open(second, 1000)).toBeLessThanOrEqual(1);
    await first.cut();
    await expect.poll(() => gateway.stats().connections).toBe(1);
    expect(await open(second)).toBeGreaterThan(opened / 2);
  },
);

/** A schema of about 10 KB, another one each time. */
function largeSchema(i: number): Uint8Array {
  const fields = Array.from({ length: 100 }, (_, field) => `${long(50)}${field}: uint32;`);
  return typeFromFbs(`table Kept${i} { ${fields.join(" ")} } root_type Kept${i};`).schema;
}

test("CON-8: types of kept events count, also once those have gone who wrote them", async () => {
  await using gateway = await createGateway({ keptBytes: 256 << 10 });
  using client = await RawClient.connect(gateway);
  const history = { events: 10, seconds: 0, latest: false, onDemand: false, durable: false };
  let written = 0;
  for (; ; written++) {
    client.say({ ...producer, schema: largeSchema(written), history });
    const opened = await client.next("ProducerOpened", "Refused");
    if (opened.kind === "ProducerOpened") {
      const token = tokenOf(largeSchema(written));
      const { channel, producer } = opened;
      client.send(encodedRun({ channel, producer, raised: 1, token }));
      client.say({ kind: "CloseEndpoint", endpoint: opened.producer });
      continue;
    }
    expect(opened).toMatchObject({
      code: ERRORS.OVERLOADED[0],
      message: expect.stringContaining("keptBytes"),
    });
    break;
  }
  expect(written).toBeGreaterThan(2);
  expect(written).toBeLessThan(20);
});

test("CON-8: types that a process declares of a modulator count as long as there is that", async () => {
  await using gateway = await createGateway({ keptBytes: 256 << 10 });
  using client = await RawClient.connect(gateway);
  using maker = await RawClient.connect(gateway);
  const opens = { ...producer, modulates: true };
  client.say({ ...consumer, modulator });
  const { consumer: endpoint } = await client.next("ConsumerOpened");
  let declared = 0;
  for (; ; declared++) {
    maker.say(opens);
    const { request, derived } = await maker.next("Install");
    const made = largeSchema(declared);
    maker.say({ kind: "Installed", request, derived, schema: made, needs: [], reads: schema });
    const { producer: number } = await maker.next("ProducerOpened");
    maker.say({ kind: "CloseEndpoint", endpoint: number });
    await maker.isAlive();
    const fault = maker.frames.find(({ kind }) => kind === "Fault");
    if (fault === undefined) continue;
    expect(fault).toMatchObject({ message: expect.stringContaining("keptBytes") });
    break;
  }
  expect(declared).toBeGreaterThan(2);
  expect(declared).toBeLessThan(20);
  client.say({ kind: "CloseEndpoint", endpoint });
  await client.isAlive();
  maker.say({ ...opens, schema: largeSchema(0) });
  await maker.next("ProducerOpened");
});

test("CON-8: what is kept for who may come back counts until that is over", async () => {
  await using gateway = await createGateway({ keptBytes: 64 << 10 });
  const opens = (i: number): Outgoing => ({ ...consumer, channel: `kept/${i}` });
  using client = await RawClient.connect(gateway);
  for (let i = 0; i < 10; i++) client.say(opens(i));
  await expect.poll(() => client.frames.filter(({ kind }) => kind === "ConsumerOpened").length).toBe(10);
  await client.cut();
  using other = await RawClient.connect(gateway);
  for (let i = 10; i < 15; i++) other.say(opens(i));
  expect(await other.next("Refused")).toMatchObject({ code: ERRORS.OVERLOADED[0] });
});

test("CON-8, HAND-1: what is kept for devices that may go on with a session counts", async () => {
  await using gateway = await createGateway({ keptBytes: 64 << 10 });
  using client = await RawClient.connect(gateway);
  for (let i = 0; i < 24; i++) client.say({ ...consumer, channel: "kept/one" });
  client.say({ kind: "AskHandover", request: 2 });
  await client.next("HandoverToken");
  await refuses(client, { kind: "AskHandover", request: 3 }, "OVERLOADED");
});

test("HAND-1: a process with very many consumers hands no session over", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  client.say(...Array(4096).fill(consumer));
  client.say({ kind: "AskHandover", request: 2 });
  await client.next("HandoverToken");
  client.say(consumer);
  await refuses(client, { kind: "AskHandover", request: 3 }, "OVERLOADED");
});

test("TYPE-2: a process hears of a type once, however many consumers it has on the channel", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  for (let i = 0; i < 10; i++) client.say({ ...consumer, channel: "typed" });
  using writer = await RawClient.connect(gateway);
  writer.say({ ...producer, channel: "typed", schema: largeSchema(1) });
  await writer.next("ProducerOpened");
  await client.isAlive();
  expect(client.frames.filter(({ kind }) => kind === "TypeKnown")).toHaveLength(1);
});

test("CHAN-2: channels have a bound, and there is room again when one has gone", async () => {
  await using gateway = await createGateway({ channels: 2 });
  using client = await RawClient.connect(gateway);
  client.say(consumer);
  const { consumer: endpoint } = await client.next("ConsumerOpened");
  client.say({ ...producer, channel: "b" });
  await client.next("ProducerOpened");
  await refuses(client, { ...consumer, channel: "c" }, "OVERLOADED");
  await refuses(client, { ...producer, channel: "c" }, "OVERLOADED");
  client.say({ kind: "CloseEndpoint", endpoint });
  client.say({ ...consumer, channel: "c" });
  await client.next("ConsumerOpened");
});

test("MOE-17: modulators one behind the other have a bound, and so have the names of what they make", async () => {
  await using gateway = await createGateway({ modulatorsInARow: 2, namesPerChannel: 3 });
  using client = await RawClient.connect(gateway);
  const derive = (channel: string, as: string): Outgoing => ({ ...consumer, channel, as, modulator });
  for (const [channel, as] of [
    ["a", "x"],
    ["a#x", "y"],
  ] as const) {
    client.say(derive(channel, as));
    await client.next("ConsumerOpened");
  }
  await refuses(client, derive("a#y", "z"), "MODULATOR_QUOTA_EXCEEDED");
  client.say(derive("a", "z"));
  await client.next("ConsumerOpened");
  await refuses(client, derive("a", "w"), "OVERLOADED");
});

test("TYPE-5: the types of a channel have a bound", async () => {
  await using gateway = await createGateway({ typesPerChannel: 2 });
  using client = await RawClient.connect(gateway);
  const of = (name: string) => typeFromFbs(`table ${name} { n: uint32; } root_type ${name};`).schema;
  for (const name of ["A", "B", "A"]) {
    client.say({ ...producer, schema: of(name) });
    await client.next("ProducerOpened");
  }
  await refuses(client, { ...producer, schema: of("C") }, "OVERLOADED");
});

test("WIRE-4: a run of more events than a gateway takes ends the connection, and one of as many does not", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  client.say(producer);
  const { channel, producer: number } = await client.next("ProducerOpened");
  const send = (events: number): void =>
    client.send(
      encodedRun({ channel, producer: number, raised: 1 }, ...Array(events).fill(new Uint8Array(0))),
    );
  send(4096);
  await client.isAlive();
  send(4097);
  expect(await client.closed).toMatchObject({
    code: ERRORS.FRAME_TOO_LARGE[0],
    reason: expect.stringContaining("at most 4096 events"),
  });
});

const SIZE = 1 << 16;

/** Sends runs of one event of 64 KiB each. */
async function fill(gateway: Gateway, channel: string, runs: number): Promise<void> {
  using client = await RawClient.connect(gateway);
  const history = { events: 0, seconds: 1e12, latest: false, onDemand: false, durable: false };
  client.say({ ...producer, channel, history });
  const opened = await client.next("ProducerOpened");
  const place = { channel: opened.channel, producer: opened.producer };
  for (let n = 0; n < runs; n++) client.send(encodedRun({ ...place, raised: n + 1 }, new Uint8Array(SIZE)));
  await client.isAlive();
}

test("HIST-1: what is kept of all channels has a bound: the oldest go of those that keep most, and are told as missing", async () => {
  const historyTotalBytes = 8 << 20;
  await using gateway = await createGateway({ historyTotalBytes });
  await fill(gateway, "little", 8);
  const past = async (channel: string) => {
    using client = await RawClient.connect(gateway);
    const from = { from: FROM.seq, epoch: 0, seq: 1n, at: 0, speed: 0 };
    client.say({ ...consumer, channel, from });
    return await client.next("ConsumerOpened");
  };
  for (const channel of ["a", "b", "c", "d"]) {
    await fill(gateway, channel, 100);
    expect(gateway.stats().historyBytes).toBeLessThanOrEqual(historyTotalBytes);
  }
  expect(gateway.stats().historyBytes).toBeGreaterThan(historyTotalBytes / 2);
  expect(await past("little")).toMatchObject({ recovered: true, missing: 0n });
  for (const channel of ["a", "b", "c", "d"]) {
    const { recovered, missing } = await past(channel);
    expect(recovered).toBe(false);
    expect(Number(missing)).toBeGreaterThan(50);
    expect(Number(missing)).toBeLessThan(90);
  }
});

const Keyed = typeFromFbs<{ id: number; bytes: Uint8Array }>(
  "table Keyed { id: uint32; bytes: [ubyte]; } root_type Keyed;",
);

test("HIST-1: the newest events of keys are bounded like runs, and those that changed last stay", async () => {
  const historyBytes = 1 << 20;
  await using gateway = await createGateway({ historyBytes });
  using client = await RawClient.connect(gateway);
  const history = { events: 0, seconds: 0, latest: true, onDemand: false, durable: false };
  client.say({ ...producer, schema: Keyed.schema, key: "id", history });
  const { channel, producer: number } = await client.next("ProducerOpened");
  for (let id = 0; id < 100; id++) {
    const bytes = encodeEvent(Keyed, { id, bytes: new Uint8Array(SIZE) });
    client.send(encodedRun({ channel, producer: number, raised: id + 1, token: Keyed.token }, bytes));
  }
  await client.isAlive();
  expect(gateway.stats().historyBytes).toBeLessThanOrEqual(historyBytes);
  using late = await RawClient.connect(gateway);
  const from = { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 };
  late.say({ ...consumer, from });
  await late.next("Replayed");
  const seqs = late.frames.flatMap(frame => (frame.kind === "Events" ? [frame.seq] : []));
  expect(seqs).toHaveLength(15);
  expect(seqs.at(-1)).toBe(100);
});

test("HIST-3, row 58: newest events of more than a socket holds come as there is room for them, and so do those of the meantime", async () => {
  const [MANY, BYTES] = [80, 1 << 20];
  await using gateway = await createGateway({ historyBytes: 2 * MANY * BYTES });
  using client = await RawClient.connect(gateway);
  const history = { events: 0, seconds: 0, latest: true, onDemand: false, durable: false };
  client.say({ ...producer, schema: Keyed.schema, key: "id", history });
  const { channel, producer: number } = await client.next("ProducerOpened");
  const raise = (id: number, raised: number): void => {
    const bytes = encodeEvent(Keyed, { id, bytes: new Uint8Array(BYTES) });
    client.send(encodedRun({ channel, producer: number, raised, token: Keyed.token }, bytes));
  };
  for (let id = 0; id < MANY; id++) {
    raise(id, id + 1);
    await client.isAlive();
  }
  using late = await RawClient.connect(gateway);
  late.say({ ...consumer, from: { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 } });
  const raised = (): number[] =>
    late.frames.flatMap(frame => (frame.kind === "Events" ? [frame.raised] : []));
  await expect.poll(() => raised().length).toBeGreaterThan(0);
  raise(MANY - 1, MANY + 1);
  await expect.poll(() => raised().at(-1)).toBe(MANY + 1);
  // The last one may have been replaced before it had its turn.
  const all = Array.from({ length: MANY + 1 }, (_, i) => i + 1);
  expect(raised()).toEqual(all.filter(count => count !== MANY || raised().includes(count)));
});
