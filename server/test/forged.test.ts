import type { Gateway } from "@jecho/server";
import { FROM, type Outgoing, PROTOCOL, type SourcePlace } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { installed, RawConsumer, RawProducer, start } from "./installing-rig.ts";
import { modulator, RawClient } from "./raw-client.ts";

const RAW = 70n;
const MADE = (1n << 32n) + 7n;
const FAR = BigInt(Number.MAX_SAFE_INTEGER);
/** A consumer that was at an earlier gateway, of which nothing is known here. */
const resume = { from: FROM.resume, epoch: 1, seq: 5n, at: 0, speed: 0 };

/** A gateway, and the process for modulators beside it, which is told to install by hand. */
async function startModulating(): Promise<{ gateway: Gateway; beside: () => Promise<RawClient> }> {
  let modulating = "";
  const gateway = await start({
    modulating: (_, token) => {
      modulating = token;
      return { ready: Promise.resolve(), close: () => Promise.resolve() };
    },
  });
  const beside = async (): Promise<RawClient> => {
    const client = await RawClient.connect(gateway, false);
    client.say({ kind: "Hello", protocol: PROTOCOL, name: "", modulating });
    await client.next("Welcome");
    return client;
  };
  return { gateway, beside };
}

const through = (count: bigint, origin = RAW): SourcePlace => ({
  source: MADE,
  urgent: false,
  raised: 1n,
  origin,
  through: count,
});

const returns = (gateway: Gateway, ...sources: SourcePlace[]): Promise<RawConsumer> =>
  RawConsumer.open(gateway, { modulator, from: resume, sources });

/** Counts that the process beside the gateway is told to go on behind. */
async function begins(beside: RawClient): Promise<{ derived: number; request: number; raised: bigint[] }> {
  const { derived, request, instead } = await beside.next("Install");
  return { derived, request, raised: (instead?.sources ?? []).map(({ raised }) => raised) };
}

test.each([
  ["comes after it", [2n, FAR], 2n],
  ["comes before it", [FAR, 2n], 2n],
  ["is the only one", [FAR], 5n],
])(
  "PROV-7, row 52: a stranger with an equal modulator that says it is far ahead, and %s, has nobody miss events",
  async (_, claims, expected) => {
    const { gateway, beside } = await startModulating();
    await using _gateway = gateway;
    using makes = await beside();
    for (const claim of claims) await (await returns(gateway, through(claim))).opened();
    using _producer = await RawProducer.open(gateway, { source: RAW, raised: 5n, modulates: false });
    expect((await begins(makes)).raised).toEqual([expected]);
  },
);

test("PROV-7, row 52: of a source that the gateway has had output of, no consumer's word counts", async () => {
  const { gateway, beside } = await startModulating();
  await using _gateway = gateway;
  const makes = await beside();
  using producer = await RawProducer.open(gateway, { source: RAW, raised: 3n, modulates: false });
  using consumer = await returns(gateway);
  const { derived, request } = await begins(makes);
  makes.say(installed(request, derived));
  let asked = 0;
  while (asked === 0) asked = (await producer.next("Demand")).request;
  producer.say({ kind: "Noted", request: asked });
  await consumer.opened();
  const at = { kind: "Position", channel: derived, producer: producer.number, urgent: false, source: MADE };
  const counts = { origin: RAW, raised: 0n, after: 0n, through: 3n, process: 0, by: "", agoMs: 0 };
  makes.say({ ...at, ...counts } as Outgoing);
  await makes.isAlive();
  for (const claim of [1n, FAR]) await (await returns(gateway, through(claim))).opened();
  await makes.cut();
  using again = await beside();
  expect((await begins(again)).raised).toEqual([3n]);
});

test("PROV-2, row 52: a producer that speaks of what is made of another one's events is let go of, and nobody misses any", async () => {
  await using gateway = await start();
  using consumer = await RawConsumer.open(gateway);
  using producer = await RawProducer.open(gateway, { source: RAW });
  const derived = await producer.installs();
  await consumer.opened();
  using stranger = await RawProducer.open(gateway, { source: 80n });
  await stranger.installs();
  const counts = { raised: 0n, after: FAR, through: FAR, process: 0, by: "", agoMs: 0 };
  const at = {
    kind: "Position",
    channel: derived,
    producer: stranger.number,
    urgent: false,
    ...counts,
  } as const;
  stranger.say({ ...at, source: MADE + 1n, origin: RAW });
  expect(await stranger.closed).toMatchObject({
    reason: expect.stringContaining("another producer's events"),
  });
  producer.say({ ...at, producer: producer.number, source: MADE, origin: RAW, after: 0n, through: 0n });
  const places = [await consumer.next("Position")];
  while (places.at(-1)?.source !== MADE) places.push(await consumer.next("Position"));
  expect(places.filter(({ through }) => through === FAR)).toEqual([]);
});
