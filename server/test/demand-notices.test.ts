import { createGateway } from "@jecho/server";
import { encodeControl, joinFrames } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { modulator, RawClient } from "./raw-client.ts";

const NAMES = ["a", "b", "c"];
const schema = new Uint8Array(0);

test("CHAN-6: what changes in one turn is told in one message, once for each channel", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  const numbers: number[] = [];
  for (const [request, channel] of NAMES.entries()) {
    producer.say({ kind: "OpenProducer", request, channel, schema, modulates: false });
    numbers.push((await producer.next("ProducerOpened")).channel);
    expect(await producer.next("Demand")).toMatchObject({ channel: numbers.at(-1), consumers: 0 });
  }
  const opens = NAMES.map((channel, request) =>
    encodeControl({ kind: "OpenConsumer", request, channel, schema, modulator: undefined }),
  );
  /** The messages by which a consumer's coming and going is told, with the frames of each. */
  const comeAndGo = async (): Promise<string[][]> => {
    producer.frames.length = 0;
    const before = producer.messages.length;
    const demands = () =>
      producer.frames.flatMap(frame =>
        frame.kind === "Demand" ? [{ channel: frame.channel, consumers: frame.consumers }] : [],
      );
    const consumer = await RawClient.connect(gateway);
    consumer.send(joinFrames(opens));
    await expect.poll(demands).toEqual(numbers.map(channel => ({ channel, consumers: 1 })));
    consumer[Symbol.dispose]();
    await expect
      .poll(() => demands().slice(NAMES.length))
      .toEqual(numbers.map(channel => ({ channel, consumers: 0 })));
    return producer.messages.slice(before);
  };
  // On a busy machine the openings may take more than one turn (CON-6).
  for (let messages: string[][] = []; messages.length !== 2; ) {
    messages = await comeAndGo();
    expect(messages.flat()).toEqual([...NAMES, ...NAMES].map(() => "Demand"));
  }
});

test("CHAN-6, MOE-19: what a modulator is fed with that runs elsewhere is sent from when that is there, and counts as wanted from when it has a consumer", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: false });
  const opened = await producer.next("ProducerOpened");
  /** Of the channel itself. */
  const told = async () => {
    for (;;) {
      const demand = await producer.next("Demand");
      if (demand.channel === opened.channel) return demand;
    }
  };
  expect(await told()).toMatchObject({ consumers: 0, unheard: 0 });
  using consumer = await RawClient.connect(gateway);
  const open = (request: number): void =>
    consumer.say({ kind: "OpenConsumer", request, channel: "a", schema, modulator });
  open(1);
  const { request, channel, derived, instead } = await consumer.next("Install");
  const process = instead?.process ?? 0;
  const feeding = { request: 2, channel: "a", schema, feed: { process, channel } };
  consumer.say({ kind: "OpenConsumer", ...feeding });
  const feed = await consumer.next("ConsumerOpened");
  expect(await told()).toMatchObject({ request: 0, consumers: 1, unheard: 1 });
  consumer.say({ kind: "Installed", request, derived, schema, needs: [], reads: schema });
  const assured = await told();
  expect(assured).toMatchObject({ consumers: 1, unheard: 1 });
  expect(assured.request).toBeGreaterThan(0);
  producer.say({ kind: "Noted", request: assured.request });
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 1, channel: derived });
  expect(await told()).toMatchObject({ request: 0, consumers: 1, unheard: 0 });
  // What it is fed by comes again, as after a broken connection, when the consumer is there.
  consumer.say({ kind: "CloseEndpoint", endpoint: feed.consumer });
  expect(await told()).toMatchObject({ consumers: 0, unheard: 0 });
  consumer.say({ kind: "OpenConsumer", ...feeding, request: 3 });
  expect(await told()).toMatchObject({ consumers: 1, unheard: 0 });
});
