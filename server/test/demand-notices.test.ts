import { createGateway } from "@jecho/server";
import { encodeControl, joinFrames } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const NAMES = ["a", "b", "c"];
const schema = new Uint8Array(0);

test("CHAN-6: what changes in one turn is told in one message, once for each channel", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  const numbers: number[] = [];
  for (const [request, channel] of NAMES.entries()) {
    producer.send(encodeControl({ kind: "OpenProducer", request, channel, schema, modulates: false }));
    numbers.push((await producer.next("ProducerOpened")).channel);
    expect(await producer.next("Demand")).toMatchObject({ channel: numbers.at(-1), consumers: 0 });
  }
  const demands = () =>
    producer.frames.flatMap(frame =>
      frame.kind === "Demand" ? [{ channel: frame.channel, consumers: frame.consumers }] : [],
    );
  const before = producer.messages.length;
  const consumer = await RawClient.connect(gateway);
  const opens = NAMES.map((channel, request) =>
    encodeControl({ kind: "OpenConsumer", request, channel, schema, modulator: undefined }),
  );
  consumer.send(joinFrames(opens));
  await expect.poll(demands).toEqual(numbers.map(channel => ({ channel, consumers: 1 })));
  consumer[Symbol.dispose]();
  await expect
    .poll(() => demands().slice(NAMES.length))
    .toEqual(numbers.map(channel => ({ channel, consumers: 0 })));
  expect(producer.messages.slice(before)).toEqual([NAMES, NAMES].map(names => names.map(() => "Demand")));
});
