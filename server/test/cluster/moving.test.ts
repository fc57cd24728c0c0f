import { createGateway, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { expect, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { RawClient } from "../raw-client.ts";
import { listed } from "./joined.ts";

const schema = new Uint8Array(0);

test("CLU-3: who leaves a former home before the producers do is awaited there: they do not hear that nobody wants their events", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  await using former = await createGateway({ cluster: one });
  using producer = await RawClient.connect(former);
  using consumer = await RawClient.connect(former);
  // Some of them move to the other gateway when that comes, and some do not.
  for (let request = 1; request <= 16; request++) {
    const channel = `channel/${request}`;
    producer.say({ kind: "OpenProducer", request, channel, schema });
    await producer.next("ProducerOpened");
    consumer.say({ kind: "OpenConsumer", request, channel, schema, modulator: undefined });
    await consumer.next("ConsumerOpened");
  }
  await producer.isAlive();
  producer.frames.length = 0;
  await using later = await createGateway({ cluster: other });
  await expect.poll(() => former.stats().gateways).toBe(2);
  await consumer.cut();
  expect(await producer.closed).toMatchObject({ code: ERRORS.CHANNEL_MOVED[0] });
  const unwanted = producer.frames.filter(frame => frame.kind === "Demand" && frame.consumers === 0);
  expect(unwanted).toEqual([]);
  expect(later.stats().gateways).toBe(2);
});

test("CLU-3: whoever has a shared object there stays until all gateways have heard of the new home, and have handed on what they took", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  let haveHeard = false;
  await using former = await createGateway({
    cluster: one,
    log: lineLog(line => {
      // A gateway hears of another one with its next beat. Timers of one turn of the loop begin at the same time, however long the turn takes.
      if (line.includes("is there")) setTimeout(() => (haveHeard = true), 500);
    }),
  });
  using client = await RawClient.connect(former);
  for (let request = 1; request <= 16; request++)
    client.say({ kind: "OpenObject", request, object: `object/${request}`, version: 1, state: "{}" });
  await client.isAlive();
  await using later = await createGateway({ cluster: other });
  expect(later.stats().gateways).toBe(2);
  expect(await client.closed).toMatchObject({ code: ERRORS.CHANNEL_MOVED[0] });
  expect(haveHeard).toBe(true);
});

test("OBJ-1, CLU-3: modulators hear of an object from its new home alone, each version once and in order", async () => {
  const [one, other, third] = (await listed(3)) as [
    GatewayClusterOptions,
    GatewayClusterOptions,
    GatewayClusterOptions,
  ];
  const [before, after] = [new Members(0, () => {}), new Members(0, () => {})];
  for (const members of [before, after]) members.came(1);
  after.came(2);
  const names = Array.from({ length: 1000 }, (_, i) => `n${i}`);
  const channel = names.find(name => after.homeOf(name) === 1) as string;
  const object = names.find(name => before.homeOf(name) === 0 && after.homeOf(name) === 2) as string;
  await using former = await createGateway({ cluster: one });
  await using reading = await createGateway({ cluster: other });
  await expect.poll(() => [former, reading].map(gateway => gateway.stats().gateways)).toEqual([2, 2]);
  using producer = await RawClient.connect(reading);
  producer.say({ kind: "OpenProducer", request: 1, channel, schema, modulates: true });
  using master = await RawClient.connect(former);
  master.say({ kind: "OpenObject", request: 1, object, version: 1, state: "{}" });
  await master.next("CopyUpdate");
  using consumer = await RawClient.connect(reading);
  const objects = [{ name: "view", object, version: 0, state: "{}", lazy: false }];
  const modulator = { source: "", parameters: "", key: "", objects, capabilities: [], compares: false };
  consumer.say({ kind: "OpenConsumer", request: 1, channel, schema, modulator });
  const { request, derived } = await producer.next("Install");
  producer.say({ kind: "Installed", request, derived, schema, needs: [], reads: schema });
  await consumer.next("ConsumerOpened");
  await using newest = await createGateway({ cluster: third });
  await Promise.all([master.closed, consumer.closed]);
  using again = await RawClient.connect(former);
  again.say({ kind: "OpenObject", request: 1, object, version: 1, state: "{}" });
  const { version: began } = await again.next("CopyUpdate");
  const told = (): number[] =>
    producer.frames.flatMap(frame => (frame.kind === "ObjectUpdate" ? [frame.version] : []));
  let version = began;
  const update = async (): Promise<void> => {
    again.say({ kind: "ObjectUpdate", object, version: ++version, state: `{"n":${version}}` });
    await again.isAlive();
  };
  await expect.poll(() => update().then(() => told().length)).toBeGreaterThan(1);
  producer.frames.length = 0;
  for (let i = 0; i < 300; i++) await update();
  await expect.poll(() => told().at(-1)).toBe(version);
  expect(told()).toEqual([...new Set(told())].sort((a, b) => a - b));
  expect(newest.stats().gateways).toBe(3);
});
