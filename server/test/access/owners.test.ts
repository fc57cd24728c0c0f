import {
  createGateway,
  createToken,
  createTokenKeys,
  type Gateway,
  type GatewayOptions,
} from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { typeFromFbs } from "@jecho/shared/fbs";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const { schema } = typeFromFbs("table Reading { n: uint32; } root_type Reading;");

function start(options: GatewayOptions = {}): Promise<Gateway> {
  return createGateway({ tokens: { keys: checking }, ...options });
}

async function enter(gateway: Gateway, subject: string, ...more: string[]): Promise<RawClient> {
  const can = ["publish:**", "subscribe:**", ...more];
  return RawClient.connect(gateway, await createToken(signing, { subject, can }));
}

/** Opens a producer. @returns why not; undefined where it is open */
async function publishes(client: RawClient, channel: string, of = schema): Promise<string | undefined> {
  client.say({ kind: "OpenProducer", request: 1, channel, schema: of });
  await client.isAlive();
  const [answer] = client.frames.splice(0).filter(({ kind }) => ["ProducerOpened", "Refused"].includes(kind));
  if (answer?.kind !== "Refused") return undefined;
  expect(answer.code).toBe(ERRORS.RIGHT_MISSING[0]);
  return answer.message;
}

test.for<[what: string, channel: string, schema: Uint8Array]>([
  ["of the same type", "a", schema],
  ["of another type", "a", typeFromFbs("table Other { s: string; } root_type Other;").schema],
  ["without a type", "a", new Uint8Array(0)],
  ["behind it", "a#hot", schema],
])(
  "RIGHT-10: where somebody publishes another subject does not by the right publish alone: %s",
  async ([, channel, of]) => {
    await using gateway = await start();
    using sim = await enter(gateway, "sim");
    using eve = await enter(gateway, "eve");
    using viewer = await enter(gateway, "ana");
    expect(await publishes(sim, "a")).toBeUndefined();
    expect(await publishes(eve, channel, of)).toBe(`eve lacks the right own:${channel}`);
    viewer.say({ kind: "OpenConsumer", request: 1, channel: "a", schema });
    await viewer.next("ConsumerOpened");
    using again = await enter(gateway, "sim");
    expect(await publishes(again, "a")).toBeUndefined();
    expect(await publishes(eve, "b", of)).toBeUndefined();
  },
);

test("RIGHT-10: with the right own another subject publishes beside the owner", async () => {
  await using gateway = await start();
  using sim = await enter(gateway, "sim");
  using ana = await enter(gateway, "ana", "own:a");
  using bob = await enter(gateway, "bob", "own:a#hot");
  expect(await publishes(sim, "a")).toBeUndefined();
  expect(await publishes(ana, "a")).toBeUndefined();
  expect(await publishes(ana, "a#hot")).toBeUndefined();
  expect(await publishes(bob, "a#hot")).toBeUndefined();
  expect(await publishes(bob, "a")).toBe("bob lacks the right own:a");
});

test("RIGHT-10: who publishes behind a channel alone comes to own nothing", async () => {
  await using gateway = await start();
  using eve = await enter(gateway, "eve");
  using sim = await enter(gateway, "sim");
  expect(await publishes(eve, "a#hot")).toBeUndefined();
  expect(await publishes(sim, "a")).toBeUndefined();
  // The end of that producer is none of the owner's.
  eve[Symbol.dispose]();
  await expect.poll(() => gateway.stats().connections).toBe(1);
  using other = await enter(gateway, "eve");
  expect(await publishes(other, "a")).toBe("eve lacks the right own:a");
});

test("RIGHT-10: a channel whose producers were cut off is its owner's as long as they may come back", async () => {
  await using gateway = await start();
  await using free = await start({ resumeWindowMs: 0 });
  for (const at of [gateway, free]) {
    using sim = await enter(at, "sim");
    expect(await publishes(sim, "a")).toBeUndefined();
    await sim.cut();
    await expect.poll(() => at.stats().connections).toBe(0);
    using eve = await enter(at, "eve");
    expect(await publishes(eve, "a")).toBe(at === free ? undefined : "eve lacks the right own:a");
  }
});

test("RIGHT-10: who leaves many channels has others' owners forgotten no sooner", async () => {
  await using gateway = await start({ channels: 20 });
  {
    using sim = await enter(gateway, "sim");
    expect(await publishes(sim, "sim/a")).toBeUndefined();
    await sim.cut();
  }
  using eve = await enter(gateway, "eve");
  for (let i = 0; i < 30; i++) {
    eve.say({ kind: "OpenProducer", request: 1, channel: `eve/${i}`, schema });
    const { producer } = await eve.next("ProducerOpened");
    eve.say({ kind: "CloseEndpoint", endpoint: producer });
  }
  expect(await publishes(eve, "sim/a")).toBe("eve lacks the right own:sim/a");
});

test("RIGHT-10: the configuration says whose a channel is before anybody publishes there", async () => {
  await using gateway = await start({ owners: { "weather/**": "sim", "weather/steering": "ana" } });
  using eve = await enter(gateway, "eve");
  for (const channel of ["weather/a", "weather/a#hot", "weather/steering"])
    expect(await publishes(eve, channel)).toBe(`eve lacks the right own:${channel}`);
  expect(await publishes(eve, "other")).toBeUndefined();
  using ana = await enter(gateway, "ana");
  using sim = await enter(gateway, "sim");
  expect(await publishes(ana, "weather/a")).toBe("ana lacks the right own:weather/a");
  expect(await publishes(sim, "weather/a")).toBeUndefined();
  expect(await publishes(ana, "weather/steering")).toBeUndefined();
  expect(await publishes(sim, "weather/steering")).toBeUndefined();
});

test("without keys anybody publishes beside anybody, and there is nobody who could own a channel", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  using second = await RawClient.connect(gateway);
  expect(await publishes(first, "a")).toBeUndefined();
  expect(await publishes(second, "a")).toBeUndefined();
  const refused = expect.objectContaining({ code: "ARGUMENT_INVALID" });
  await expect(createGateway({ owners: { a: "sim" } })).rejects.toEqual(refused);
  await expect(start({ owners: { "a b": "sim" } })).rejects.toEqual(refused);
  await expect(start({ owners: { a: "" } })).rejects.toEqual(refused);
});
