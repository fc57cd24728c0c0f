import { createGateway, createToken, createTokenKeys, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { modulator, RawClient } from "../raw-client.ts";
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

test("MOE-19, CLU-3: a modulator beside a gateway is fed there, though its channel is about to move while it is installed", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  const { signing, checking } = await createTokenKeys();
  const tokens = { keys: checking };
  let modulating = "";
  await using former = await createGateway({
    tokens,
    cluster: one,
    modulating: (_, token) => {
      modulating = token;
      return { ready: Promise.resolve(), close: async () => {} };
    },
  });
  using beside = await RawClient.connect(former, false);
  beside.say({ kind: "Hello", protocol: PROTOCOL, name: "", modulating });
  await beside.next("Welcome");
  const token = await createToken(signing, { subject: "ana", can: ["*:**"] });
  using client = await RawClient.connect(former, token);
  const members = new Members(0, () => {});
  members.came(1);
  const channel = Array.from({ length: 100 }, (_, i) => `n${i}`).find(
    name => !members.isHomeOf(name),
  ) as string;
  client.say({ kind: "OpenProducer", request: 1, channel, schema });
  await client.next("ProducerOpened");
  client.say({ kind: "OpenConsumer", request: 2, channel, schema, modulator });
  const { channel: input, instead } = await beside.next("Install");
  await using later = await createGateway({ tokens, cluster: other });
  await expect.poll(() => former.stats().gateways).toBe(2);
  const feed = { process: instead?.process as number, channel: input };
  beside.say({ kind: "OpenConsumer", request: 3, channel, schema, modulator: undefined, feed });
  expect((await beside.next("Refused", "ConsumerOpened")).kind).toBe("ConsumerOpened");
  await beside.isAlive();
  expect(later.stats().gateways).toBe(2);
});
