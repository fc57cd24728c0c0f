import { createGateway, type Gateway } from "@jecho/server";
import { FLAG_SYNC } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "../raw-client.ts";

const NOTHING = new Uint8Array(0);

async function consuming(gateway: Gateway): Promise<RawClient> {
  const client = await RawClient.connect(gateway);
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  await client.next("ConsumerOpened");
  return client;
}

async function producing(gateway: Gateway) {
  const client = await RawClient.connect(gateway);
  client.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const { channel, producer } = await client.next("ProducerOpened");
  return {
    client,
    raise(raised: number, count: number): void {
      client.send(encodedRun({ channel, producer, raised, flags: FLAG_SYNC }, ...Array(count).fill(NOTHING)));
    },
  };
}

test("SYNC-8: a run of many events for many processes comes, nobody acknowledges it, and its producer is told that", async () => {
  await using gateway = await createGateway();
  const consumers: RawClient[] = [];
  for (let i = 0; i < 9; i++) consumers.push(await consuming(gateway));
  const { client, raise } = await producing(gateway);
  raise(1, 4096);
  await client.isAlive();
  const answers = client.frames.splice(0).flatMap(frame => (frame.kind === "Processed" ? [frame] : []));
  expect(answers.map(({ raised }) => raised)).toEqual(Array.from({ length: 4096 }, (_, i) => i + 1));
  for (const answer of [answers[0], answers.at(-1)])
    expect(answer).toMatchObject({ consumers: 9, failed: 9, message: expect.stringContaining("at most") });
  for (const consumer of consumers)
    expect(await consumer.next("Events")).toMatchObject({ count: 4096, isSync: false });
  // One event is waited for, however many take it.
  raise(4097, 1);
  for (const consumer of consumers) {
    const { channel, seq } = await consumer.next("Events");
    consumer.say({ kind: "Ack", channel, seq, consumers: 1, failed: 0, message: "" });
  }
  expect(await client.next("Processed")).toMatchObject({ raised: 4097, consumers: 9, failed: 0 });
  for (const one of [client, ...consumers]) one[Symbol.dispose]();
});

test("CON-8: acknowledgements that are waited for count as kept, until they are there", async () => {
  await using gateway = await createGateway({ keptBytes: 256 << 10 });
  using consumer = await consuming(gateway);
  const { client, raise } = await producing(gateway);
  for (const raised of [1, 4097]) {
    raise(raised, 4096);
    const { channel, seq } = await consumer.next("Events");
    const ack = { kind: "Ack", channel, consumers: 1, failed: 0, message: "" } as const;
    consumer.say(...Array.from({ length: 4096 }, (_, i) => ({ ...ack, seq: seq + i })));
    await expect.poll(() => client.frames.filter(({ kind }) => kind === "Processed")).toHaveLength(4096);
    client.frames.length = 0;
  }
  raise(8193, 4096);
  await client.isAlive();
  raise(12_289, 4096);
  expect(await client.next("Processed")).toMatchObject({
    raised: 12_289,
    failed: 1,
    message: expect.stringContaining("keptBytes"),
  });
});
