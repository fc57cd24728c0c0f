import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import type { Position } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawConsumer, RawProducer, start } from "./installing-rig.ts";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const NONE = new Uint8Array(0);

/** Opens a consumer with a modulator. @returns the derived channel's number */
async function open(client: RawClient): Promise<number> {
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", modulator });
  const { channel } = await client.next("ConsumerOpened");
  return channel;
}

test("PROV-6: the gateway knows how far a modulator has been through a source, and tells it to those who come later", async () => {
  await using gateway = await createGateway();
  using making = await RawClient.connect(gateway);
  making.say({ kind: "OpenProducer", request: 1, channel: "a", modulates: true, source: 9n });
  const { producer } = await making.next("ProducerOpened");
  using first = await RawClient.connect(gateway);
  const opening = open(first);
  const { request, derived } = await making.next("Install");
  making.say({ kind: "Installed", request, derived, schema: NONE, needs: [], reads: NONE });
  expect(await opening).toBe(derived);
  const place = (raised: bigint, after: bigint, through: bigint): void =>
    making.say({
      kind: "Position",
      channel: derived,
      producer,
      source: 7n,
      raised,
      origin: 9n,
      after,
      through,
    });
  place(0n, 100n, 100n);
  const made = { channel: derived, producer };
  making.send(encodedRun({ ...made, raised: 1, after: 100, through: 110 }));
  place(1n, 100n, 120n);
  expect(await first.next("Position")).toMatchObject({ after: 100n, through: 100n });
  expect(await first.next("Events")).toMatchObject({ after: 100, through: 110 });
  expect(await first.next("Position")).toMatchObject({ source: 7n, origin: 9n, after: 100n, through: 120n });
  const come = async (): Promise<Position> => {
    using later = await RawClient.connect(gateway);
    await open(later);
    return await later.next("Position");
  };
  expect(await come()).toMatchObject({ raised: 1n, source: 7n, origin: 9n, after: 100n, through: 120n });
  // Ten never reached it: what it has been through without a break begins behind them.
  making.send(encodedRun({ ...made, raised: 2, after: 130, through: 131 }));
  await first.next("Events");
  expect(await come()).toMatchObject({ raised: 2n, after: 130n, through: 131n });
});

test("PROV-5: consumers of a derived channel are told that a source begins, and behind which event", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  const derived = await open(first);
  using producer = await RawClient.connect(gateway);
  producer.say({
    kind: "OpenProducer",
    request: 1,
    channel: "a",
    modulates: true,
    source: 7n,
    raised: 4n,
    raisedUrgent: 2n,
  });
  const begins = { channel: derived, source: 7n, origin: 7n, raised: 0n };
  expect(await first.next("Position")).toMatchObject({ ...begins, urgent: false, after: 4n, through: 4n });
  expect(await first.next("Position")).toMatchObject({ ...begins, urgent: true, after: 2n, through: 2n });
});

test("PROV-5: so is who begins to listen before that producer has answered anything", async () => {
  await using gateway = await start({ installTimeoutMs: 1 });
  using healthy = await RawProducer.open(gateway, { source: 6n });
  using first = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  await first.opened();
  using joining = await RawProducer.open(gateway, { source: 7n, raised: 4n });
  await joining.install();
  using second = await RawConsumer.open(gateway);
  expect(await second.opened()).toMatchObject({ channel: derived });
  const begins = { channel: derived, source: 7n, origin: 7n, raised: 0n };
  expect(await second.next("Position")).toMatchObject({ ...begins, urgent: false, after: 4n, through: 4n });
  expect(await second.next("Position")).toMatchObject({ ...begins, urgent: true, after: 0n, through: 0n });
});

test("PROV-5: consumers are told the end of a source of which nothing was made, as its process has no modulator", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway, { source: 6n });
  using refusing = await RawProducer.open(gateway, { source: 7n });
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  await refusing.refuses(ERRORS.SERVICE_MISSING[0]);
  await consumer.opened();
  const { number: producer, channel } = refusing;
  const at = { producer, channel, source: 7n, raised: 5n, origin: 0n, after: 0n, through: 0n };
  refusing.say({ kind: "Position", ...at }, { kind: "CloseEndpoint", endpoint: producer });
  const ended = { channel: derived, source: 7n, origin: 7n, raised: 5n };
  await expect.poll(() => consumer.frames).toContainEqual(expect.objectContaining(ended));
});

/** Says how many events a producer has raised, of which nothing was made so far. */
function raised(producer: RawProducer, source: bigint, raised: bigint): void {
  const { number, channel } = producer;
  const at = { producer: number, channel, source, raised, origin: 0n, after: 0n, through: 0n };
  producer.say({ kind: "Position", ...at });
}

/** A producer that was cut off when it had raised 5 events. */
async function cutOff(gateway: Parameters<typeof RawProducer.open>[0]): Promise<RawProducer> {
  const producer = await RawProducer.open(gateway, { source: 7n });
  raised(producer, 7n, 5n);
  await producer.isAlive();
  await producer.cut();
  return producer;
}

test("PROV-5: who begins while a producer is cut off is told where its source is, and misses nothing untold when that is back", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway, { source: 6n });
  using _away = await cutOff(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  const begins = { channel: derived, source: 7n, origin: 7n, raised: 0n, after: 5n, through: 5n };
  await expect.poll(() => consumer.frames).toContainEqual(expect.objectContaining(begins));
});

test("PROV-5: to what is derived before a producer that was cut off is waited for no more, too", async () => {
  await using gateway = await start({ resumeWindowMs: 100 });
  using healthy = await RawProducer.open(gateway, { source: 6n });
  using _gone = await cutOff(gateway);
  using consumer = await RawConsumer.open(gateway);
  const derived = await healthy.installs();
  const ended = { channel: derived, source: 7n, origin: 7n, raised: 5n };
  await expect.poll(() => consumer.frames).toContainEqual(expect.objectContaining(ended));
});

test("PROV-5: consumers are told which events of a killed producer its modulator had not been through", async () => {
  await using gateway = await start({ resumeWindowMs: 100 });
  using killed = await RawProducer.open(gateway, { source: 7n });
  using consumer = await RawConsumer.open(gateway);
  const derived = await killed.installs();
  await consumer.opened();
  raised(killed, 7n, 5n);
  const made = { channel: derived, producer: killed.number, source: 8n, origin: 7n, after: 0n };
  killed.say({ kind: "Position", ...made, raised: 0n, through: 3n });
  await killed.isAlive();
  await killed.cut();
  const ended = { channel: derived, source: 7n, origin: 7n, raised: 5n };
  await expect.poll(() => consumer.frames).toContainEqual(expect.objectContaining(ended));
});
