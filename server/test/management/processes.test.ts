import { createGateway } from "@jecho/server";
import { encodeControl, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";

function openProducer(client: RawClient, instance: string, source: bigint): void {
  client.send(encodeControl({ kind: "OpenProducer", request: 1, channel: "a", instance, source }));
}

/** Says where the producer is, @returns what a consumer hears of its process */
async function processHeard(client: RawClient, consumer: RawClient, source: bigint): Promise<number> {
  const { channel, producer } = await client.next("ProducerOpened");
  client.send(encodeControl({ kind: "Position", channel, producer, source, raised: 0n }));
  const heard = await consumer.next("Position");
  expect(heard).toMatchObject({ producer, source });
  return heard.process;
}

test("DEL-7: a process that comes back has the number that it had, and its former connection, which nobody reads, ends", async () => {
  await using gateway = await createGateway();
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl({ kind: "OpenConsumer", request: 1, channel: "a" }));
  await consumer.next("ConsumerOpened");
  using first = await RawClient.connect(gateway);
  openProducer(first, "one", 1n);
  const process = await processHeard(first, consumer, 1n);
  // The gateway has not noticed that the first connection is broken.
  using second = await RawClient.connect(gateway);
  openProducer(second, "one", 1n);
  expect(await processHeard(second, consumer, 1n)).toBe(process);
  expect(await first.closed).toMatchObject({ code: 4003 });
  await second.cut();
  using third = await RawClient.connect(gateway);
  openProducer(third, "one", 1n);
  expect(await processHeard(third, consumer, 1n)).toBe(process);
  using other = await RawClient.connect(gateway);
  openProducer(other, "two", 2n);
  expect(await processHeard(other, consumer, 2n)).not.toBe(process);
});

test("DEL-7: a process that comes to a gateway that was started again has the number that it had at the one before", async () => {
  const numbers: number[] = [];
  for (const instances of [["one", "two"], ["two"]]) {
    await using gateway = await createGateway();
    using consumer = await RawClient.connect(gateway);
    consumer.send(encodeControl({ kind: "OpenConsumer", request: 1, channel: "a" }));
    await consumer.next("ConsumerOpened");
    for (const instance of instances) {
      using client = await RawClient.connect(gateway);
      openProducer(client, instance, 1n);
      numbers.push(await processHeard(client, consumer, 1n));
    }
  }
  const [first, second, again] = numbers;
  expect(again).toBe(second);
  expect(first).not.toBe(second);
});

test("DEL-7: a process' name is a short one", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  openProducer(client, "x".repeat(65), 1n);
  expect(await client.next("Refused")).toMatchObject({ request: 1, code: 4551 });
});

test("DEL-7: a process that comes back produces once the producers of its former connection have gone", async () => {
  const producers = 20_000;
  await using gateway = await createGateway({ resumeWindowMs: 0 });
  const say = (client: RawClient, count: number): void =>
    client.say(
      ...Array.from(
        { length: count },
        (_, i): Outgoing => ({
          kind: "OpenProducer",
          request: i + 1,
          channel: `many/${i}`,
          schema: new Uint8Array(0),
          instance: "one",
        }),
      ),
    );
  using first = await RawClient.connect(gateway);
  say(first, producers);
  await expect.poll(() => gateway.stats().channels).toBe(producers);
  using second = await RawClient.connect(gateway);
  say(second, 1);
  await second.next("ProducerOpened");
  expect(gateway.stats().channels).toBe(1);
});
