import { createGateway, type Gateway } from "@jecho/server";
import { encodeControl, FLAG_SYNC, joinFrames } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);

/** A connection that produces on these channels, and writes runs of one event each. */
async function produce(gateway: Gateway, names: readonly string[]) {
  const client = await RawClient.connect(gateway);
  const numbers = new Map<string, { channel: number; producer: number }>();
  for (const [request, channel] of names.entries()) {
    client.say({ kind: "OpenProducer", request, channel, schema: NOTHING, modulates: false });
    numbers.set(channel, await client.next("ProducerOpened"));
  }
  return {
    client,
    run(name: string, raised: number, flags = 0): Uint8Array {
      const { channel = 0, producer = 0 } = numbers.get(name) ?? {};
      return encodedRun({ channel, producer, raised, flags }, Uint8Array.of(raised));
    },
    position(name: string, raised: number): Uint8Array {
      const { channel = 0, producer = 0 } = numbers.get(name) ?? {};
      const at = { channel, producer, urgent: false, source: 7n, raised: BigInt(raised) };
      return encodeControl({ kind: "Position", ...at });
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** A connection that listens to these channels. */
async function listen(gateway: Gateway, names: readonly string[]) {
  const client = await RawClient.connect(gateway);
  const nameOf = new Map<number, string>();
  const numberOf = new Map<string, number>();
  for (const [request, channel] of names.entries()) {
    client.say({ kind: "OpenConsumer", request, channel, schema: NOTHING, modulator: undefined });
    const { channel: number } = await client.next("ConsumerOpened");
    nameOf.set(number, channel);
    numberOf.set(channel, number);
  }
  const came = (): string[] =>
    client.frames.flatMap(frame =>
      frame.kind === "Events" ? [`${nameOf.get(frame.channel)}${frame.raised}`] : [],
    );
  return {
    client,
    /** The runs that have come, by channel and count. */
    came,
    of: (name: string) => came().filter(run => run.startsWith(name)),
    /** Messages that carried runs. */
    messages: () => client.messages.filter(kinds => kinds.includes("Events")),
    flow: (name: string, ready: boolean) =>
      client.say({ kind: "Flow", derived: numberOf.get(name) ?? 0, ready }),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

test("WIRE-8: runs of many channels go to a process that listens to them all in one message, as they came", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a", "b", "c"]);
  using one = await listen(gateway, ["a", "b", "c"]);
  using other = await listen(gateway, ["c", "b", "a"]);
  const { run } = producer;
  producer.client.send(joinFrames([run("a", 1), run("b", 1), run("a", 2), run("c", 1)]));
  for (const consumer of [one, other]) {
    await expect.poll(consumer.came).toEqual(["a1", "b1", "a2", "c1"]);
    expect(consumer.messages()).toEqual([["Events", "Events", "Events", "Events"]]);
  }
});

test("WIRE-8: each process gets the runs of its channels, in their order, whoever listens to what", async () => {
  await using gateway = await createGateway();
  // Every set of seven processes listens to a channel of its own.
  const sets = Array.from({ length: 127 }, (_, i) => i + 1);
  const nameOf = (set: number): string => `set-${set}-`;
  using producer = await produce(gateway, sets.map(nameOf));
  const consumers = await Promise.all(
    Array.from({ length: 7 }, (_, bit) =>
      listen(gateway, sets.filter(set => (set & (1 << bit)) !== 0).map(nameOf)),
    ),
  );
  const rounds = [1, 2, 3];
  producer.client.send(
    joinFrames(rounds.flatMap(raised => sets.map(set => producer.run(nameOf(set), raised)))),
  );
  for (const [bit, consumer] of consumers.entries()) {
    const own = sets.filter(set => (set & (1 << bit)) !== 0);
    await expect.poll(() => consumer.came().length).toBe(own.length * rounds.length);
    for (const set of own)
      expect(consumer.of(nameOf(set))).toEqual(rounds.map(raised => `${nameOf(set)}${raised}`));
    consumer[Symbol.dispose]();
  }
});

test("SLOW-1: what waits for a process goes out in few messages", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a"]);
  using consumer = await listen(gateway, ["a"]);
  consumer.flow("a", false);
  await consumer.client.isAlive();
  const counts = Array.from({ length: 100 }, (_, i) => i + 1);
  for (const raised of counts) producer.client.send(producer.run("a", raised));
  await producer.client.isAlive();
  consumer.flow("a", true);
  await expect.poll(consumer.came).toEqual(counts.map(raised => `a${raised}`));
  expect(consumer.messages()).toEqual([counts.map(() => "Events")]);
});

test("DEL-2: where a producer is comes in its place among the runs of one message", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a", "b"]);
  using consumer = await listen(gateway, ["a", "b"]);
  const { run, position } = producer;
  producer.client.send(
    joinFrames([position("a", 0), run("a", 1), run("b", 1), position("a", 9), run("a", 10)]),
  );
  await expect.poll(consumer.came).toEqual(["a1", "b1", "a10"]);
  const kinds = consumer.client.frames.map(({ kind }) => kind);
  expect(kinds).toEqual(["Position", "Events", "Events", "Position", "Events"]);
  expect(consumer.messages()).toEqual([kinds]);
});

test("WIRE-5: runs in front of a malformed frame reach their consumers", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a", "b"]);
  using consumer = await listen(gateway, ["a", "b"]);
  const { run } = producer;
  producer.client.send(joinFrames([run("a", 1), run("b", 1), new Uint8Array(24).fill(255)]));
  expect((await producer.client.closed).code).toBe(4500);
  await expect.poll(consumer.came).toEqual(["a1", "b1"]);
});

test("SLOW-1: a process that can take no more of one channel gets the others' runs, and that channel's in their order later", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a", "b"]);
  using slow = await listen(gateway, ["a", "b"]);
  using quick = await listen(gateway, ["a", "b"]);
  const { run } = producer;
  slow.flow("a", false);
  await slow.client.isAlive();
  producer.client.send(joinFrames([run("a", 1), run("b", 1, FLAG_SYNC), run("a", 2), run("b", 2)]));
  await expect.poll(() => slow.came()).toEqual(["b1", "b2"]);
  await expect.poll(() => quick.came().length).toBe(4);
  expect([quick.of("a"), quick.of("b")]).toEqual([
    ["a1", "a2"],
    ["b1", "b2"],
  ]);
  slow.flow("a", true);
  await expect.poll(() => slow.of("a")).toEqual(["a1", "a2"]);
  producer.client.send(joinFrames([run("a", 3), run("b", 3)]));
  await expect.poll(() => slow.came().slice(4)).toEqual(["a3", "b3"]);
  expect(slow.messages().at(-1)).toEqual(["Events", "Events"]);
});

test("WIRE-8: whoever comes and goes, those who listen get each run once, in order", async () => {
  await using gateway = await createGateway();
  using producer = await produce(gateway, ["a"]);
  const isHeard = async (
    raised: number,
    ...consumers: Awaited<ReturnType<typeof listen>>[]
  ): Promise<void> => {
    producer.client.send(producer.run("a", raised));
    for (const consumer of consumers) await expect.poll(() => consumer.came().at(-1)).toBe(`a${raised}`);
  };
  using first = await listen(gateway, ["a"]);
  await isHeard(1, first);
  using second = await listen(gateway, ["a"]);
  await isHeard(2, first, second);
  first[Symbol.dispose]();
  await first.client.closed;
  await isHeard(3, second);
  using third = await listen(gateway, ["a"]);
  await isHeard(4, second, third);
  for (const leaving of [second, third]) {
    leaving[Symbol.dispose]();
    await leaving.client.closed;
  }
  using last = await listen(gateway, ["a"]);
  await isHeard(5, last);
  expect(Object.values({ first, second, third, last }).map(({ came }) => came())).toEqual([
    ["a1", "a2"],
    ["a2", "a3", "a4"],
    ["a4"],
    ["a5"],
  ]);
});
