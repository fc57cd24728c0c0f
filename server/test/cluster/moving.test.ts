import { createGateway, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { expect, test } from "vitest";
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
