import { createGateway, type Gateway } from "@jecho/server";
import { FLAG_URGENT } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);
const EVENT = new Uint8Array(8);

/** A producer of channel "a". */
async function produce(client: RawClient, source: bigint) {
  client.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const { channel, producer } = await client.next("ProducerOpened");
  return {
    place: (raised: number, urgent = false) =>
      client.say({ kind: "Position", channel, producer, urgent, source, raised: BigInt(raised) }),
    /** Two events. */
    raise: (raised: number, flags = 0) =>
      client.send(encodedRun({ channel, producer, raised, flags }, EVENT, EVENT)),
    close: () => client.say({ kind: "CloseEndpoint", endpoint: producer }),
  };
}

/** What comes to a consumer of channel "a": the counts of each run's first event. */
async function consume(gateway: Gateway) {
  const client = await RawClient.connect(gateway);
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  await client.next("ConsumerOpened");
  return {
    came: () => client.frames.flatMap(frame => (frame.kind === "Events" ? [frame.raised] : [])),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

test("DEL-1, DEL-4: runs of several producers, and their urgent ones, are counted apart, in whatever order they come", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const [one, other] = [await produce(client, 50n), await produce(client, 60n)];
  using consumer = await consume(gateway);
  one.place(0);
  one.place(200, true);
  other.place(100);
  for (const raised of [1, 3, 5]) {
    one.raise(raised);
    one.raise(200 + raised, FLAG_URGENT);
    other.raise(100 + raised);
    // What was taken before does not come again.
    other.raise(100 + raised);
    one.raise(raised);
  }
  await expect.poll(consumer.came).toEqual([1, 201, 101, 3, 203, 103, 5, 205, 105]);
});

test("DEL-4: a source is the same at another connection and under another number", async () => {
  await using gateway = await createGateway();
  using consumer = await consume(gateway);
  using first = await RawClient.connect(gateway);
  const before = await produce(first, 50n);
  before.place(0);
  before.raise(1);
  await expect.poll(consumer.came).toEqual([1]);
  before.close();
  await first.isAlive();
  using second = await RawClient.connect(gateway);
  const after = await produce(second, 50n);
  after.place(0);
  after.raise(1);
  after.raise(3);
  await expect.poll(consumer.came).toEqual([1, 3]);
});
