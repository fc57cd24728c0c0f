import { createGateway, lineLog } from "@jecho/server";
import { PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);

/** A gateway with a producer, and with a process for modulators that answers only what it is made to. */
async function startWith(drainMs: number, write: (line: string) => void = () => {}) {
  let shown = "";
  const gateway = await createGateway({
    drainMs,
    log: lineLog(write),
    modulating: (_, token) => {
      shown = token;
      return { ready: Promise.resolve(), close: () => Promise.resolve() };
    },
  });
  const beside = await RawClient.connect(gateway, false);
  beside.say({ kind: "Hello", protocol: PROTOCOL, name: "", modulating: shown });
  await beside.next("Welcome");
  const producer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING, modulates: false });
  const { channel, producer: number } = await producer.next("ProducerOpened");
  const raise = (raised: number): void =>
    producer.send(encodedRun({ channel, producer: number, raised }, NOTHING));
  return { gateway, beside, producer, raise };
}

test("MOE-20, DEL-3: a gateway that ends takes nothing more of producers, confirms what it has taken, and waits for its process", async () => {
  const { gateway, beside, producer, raise } = await startWith(60_000);
  raise(1);
  await producer.next("Taken");
  const closing = gateway.close();
  const { request } = await beside.next("Drain");
  raise(2);
  // This one has been looked at.
  await producer.isAlive();
  beside.say({ kind: "Noted", request });
  await closing;
  expect((await producer.closed).code).toBe(4000);
  expect(producer.frames.some(({ kind }) => kind === "Taken")).toBe(false);
});

test("MOE-20: it waits no longer than it was told to, and says so", async () => {
  const lines: string[] = [];
  const { gateway, beside, producer } = await startWith(500, line => lines.push(line));
  await gateway.close();
  expect((await producer.closed).code).toBe(4000);
  expect((await beside.closed).code).toBe(4000);
  expect(lines).toEqual([expect.stringContaining("500 ms")]);
});

/** A gateway with a consumer that can take no more, for which ten events wait. */
async function startWaiting(drainMs: number, write: (line: string) => void = () => {}) {
  const gateway = await createGateway({ drainMs, log: lineLog(write) });
  const consumer = await RawClient.connect(gateway);
  consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING });
  const { channel } = await consumer.next("ConsumerOpened");
  const flow = (ready: boolean): void => consumer.say({ kind: "Flow", derived: channel, ready });
  flow(false);
  await consumer.isAlive();
  const producer = await RawClient.connect(gateway);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING });
  const opened = await producer.next("ProducerOpened");
  for (let raised = 1; raised <= 10; raised++)
    producer.send(encodedRun({ channel, producer: opened.producer, raised }, NOTHING));
  await producer.isAlive();
  return { gateway, consumer, flow };
}

test("DEL-10: a gateway that ends sends what waits for consumers before it lets go of them", async () => {
  const { gateway, consumer, flow } = await startWaiting(60_000);
  const closing = gateway.close();
  flow(true);
  await closing;
  expect((await consumer.closed).code).toBe(4000);
  const raised = consumer.frames.flatMap(frame => (frame.kind === "Events" ? [frame.raised] : []));
  expect(raised).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("DEL-10: for one that takes nothing it waits no longer than it was told to, and says so", async () => {
  const lines: string[] = [];
  const { gateway, consumer } = await startWaiting(500, line => lines.push(line));
  await gateway.close();
  expect((await consumer.closed).code).toBe(4000);
  expect(lines).toEqual([expect.stringContaining("500 ms")]);
});
