import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import {
  createGateway,
  createToken,
  createTokenKeys,
  type Gateway,
  type GatewayOptions,
} from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { type Outgoing, PROTOCOL, type SharedState } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { readTrunk, TO_HOME } from "../../src/cluster/trunk.ts";
import { modulator, RawClient } from "../raw-client.ts";
import { byNats, Joined, listed } from "./joined.ts";

const { signing, checking } = await createTokenKeys();
const tokens = { keys: checking };
const schema = new Uint8Array(0);
const members = new Members(0, () => {});
members.came(1);
const isHere = (name: string): boolean => members.isHomeOf(name);
const isThere = (name: string): boolean => !members.isHomeOf(name);
const names = Array.from({ length: 100 }, (_, i) => `n${i}`);
const [here, there] = [names.filter(isHere), names.filter(isThere)] as [string[], string[]];

/** Two gateways that know each other, of which the first one is the clients'. */
async function edgeOfTwo(options: GatewayOptions): Promise<Gateway> {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  const edge = await createGateway({ ...options, cluster: one });
  const home = await createGateway({ ...options, cluster: other });
  onTestFinished(async () => void (await Promise.all([edge.close(), home.close()])));
  await expect.poll(() => [edge, home].map(gateway => gateway.stats().gateways)).toEqual([2, 2]);
  return edge;
}

async function enter(gateway: Gateway, subject: string, ...can: string[]): Promise<RawClient> {
  return RawClient.connect(gateway, await createToken(signing, { subject, can }));
}

const brought = (object: string, version: number, state: string): SharedState => ({
  name: object,
  object,
  version,
  state,
  lazy: false,
});

/** Opens a consumer with a modulator that reads these objects. */
function reading(channel: string, objects: SharedState[], parameters = ""): Outgoing {
  const modulator = { source: "", parameters, key: "", objects, capabilities: [], compares: false };
  return { kind: "OpenConsumer", request: 1, channel, schema, modulator };
}

test.for<[where: string, channel: string, object: string]>([
  ["at the object's home", there[0] as string, here[0] as string],
  ["at the channel's home", here[0] as string, there[0] as string],
])(
  "RIGHT-4: objects of a modulator whose consumer is refused are not made, in a cluster either: %s",
  async ([, channel, object]) => {
    const edge = await edgeOfTwo({ tokens });
    using eve = await enter(edge, "eve", "subscribe:**", "modulate:**");
    eve.say(reading(channel, [brought(object, 1, "{}")]));
    expect((await eve.next("Refused")).message).toBe(`eve lacks the right share:${object}`);
    // The home answers in order.
    eve.say({ kind: "OpenObject", request: 2, object });
    await eve.next("Refused");
    using ana = await enter(edge, "ana", "share:**");
    ana.say({ kind: "OpenObject", request: 1, object });
    expect(await ana.next("Refused")).toMatchObject({ code: ERRORS.OBJECT_UNKNOWN[0] });
  },
);

test("RIGHT-4: who may not share an object does not change what others' modulators read of it, in a cluster either", async () => {
  const edge = await edgeOfTwo({ tokens });
  const [channel, object] = [here[0], there[0]] as [string, string];
  const can = ["subscribe:**", "modulate:**", "share:**"];
  using ana = await enter(edge, "ana", ...can);
  using bob = await enter(edge, "bob", ...can);
  for (const client of [ana, bob]) {
    client.say(reading(channel, [brought(object, 1, '{"by":"ana"}')]));
    await client.next("ConsumerOpened");
  }
  // Nobody has the object's master by then.
  ana[Symbol.dispose]();
  await expect.poll(() => edge.stats().connections).toBe(1);
  using eve = await enter(edge, "eve", "subscribe:**", "modulate:**");
  eve.say(reading(channel, [brought(object, 50, '{"by":"eve"}')]));
  await eve.next("Refused");
  eve.say({ kind: "OpenObject", request: 2, object });
  await eve.next("Refused");
  bob.say({ kind: "OpenObject", request: 2, object });
  expect((await bob.next("CopyUpdate")).state).toBe('{"by":"ana"}');
});

test.for([
  { objectsPerConnection: 4, refused: "a connection has at most 4 shared objects" },
  { keptBytes: 1 << 19, refused: `for an address at most ${1 << 19} bytes are kept (keptBytes)` },
])(
  "OBJ-12, CON-8: objects of another gateway count for who brings them, and none stays where that is too much: %o",
  async ({ refused, ...limits }) => {
    const edge = await edgeOfTwo(limits);
    const channel = here[0] as string;
    using client = await RawClient.connect(edge);
    const state = `{"a":"${"x".repeat(60_000)}"}`;
    const bring = async (ids: string[]): Promise<string> => {
      client.say(
        reading(
          channel,
          ids.map(id => brought(id, 1, state)),
          ids.join(),
        ),
      );
      const answer = await client.next("ConsumerOpened", "Refused");
      if (answer.kind === "ConsumerOpened") client.say({ kind: "CloseEndpoint", endpoint: answer.consumer });
      return answer.kind === "Refused" ? answer.message : "";
    };
    expect(await bring(there.slice(0, 5))).toBe(refused);
    // Nor do those count that have gone.
    for (let i = 0; i < 10; i += 2) expect(await bring(there.slice(i, i + 2))).toBe("");
  },
);

test.for<[whose: string, token: string]>([
  ["nobody's", "none"],
  ["another subject's", await createToken(signing, { subject: "eve", can: [] })],
])(
  "RIGHT-2: a token that is not taken changes nothing, for homes that its client comes to later either: %s",
  async ([, token]) => {
    const edge = await edgeOfTwo({ tokens });
    using ana = await enter(edge, "ana", "publish:**");
    ana.say({ kind: "Token", token });
    await ana.next("Fault");
    ana.say({ kind: "OpenProducer", request: 1, channel: there[0] as string, schema });
    await ana.next("ProducerOpened");
  },
);

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

const withoutNats = await whyNoNats();

test.skipIf(withoutNats)(
  "CLU-8: a gateway that is no member hears its own process for modulators, which does not say again what it said meanwhile",
  async () => {
    const nats = await TestNats.start();
    onTestFinished(() => nats.stop());
    let modulating = "";
    await using gateway = await createGateway({
      cluster: { nats: { servers: [nats.address] } },
      modulating: (_, token) => {
        modulating = token;
        return { ready: Promise.resolve(), close: async () => {} };
      },
    });
    using own = await RawClient.connect(gateway, false);
    own.say({ kind: "Hello", protocol: PROTOCOL, name: "modulators", token: "", modulating });
    await own.next("Welcome");
    using client = await RawClient.connect(gateway);
    await nats.kill();
    expect(await client.closed).toMatchObject({ code: ERRORS.CHANNEL_MOVED[0] });
    await own.isAlive();
  },
);

test.skipIf(withoutNats)(
  "CLU-7: what clients have said to a channel's home goes out before their own gateway ends",
  async () => {
    const [one, other] = (await byNats(2)) as [GatewayClusterOptions, GatewayClusterOptions];
    const home = await Joined.open(other);
    const edge = await createGateway({ cluster: one, drainMs: 0 });
    onTestFinished(() => edge.close());
    await expect.poll(() => edge.stats().gateways).toBe(2);
    await expect.poll(() => home.members.size).toBe(1);
    const [index] = [...home.members] as [number];
    const members = new Members(index, () => {});
    members.came(home.self);
    const objects = Array.from({ length: 100 }, (_, i) => `o${i}`).filter(name => !members.isHomeOf(name));
    using client = await RawClient.connect(edge);
    const state = JSON.stringify("x".repeat(1 << 20));
    // Many of the windows that a carrier has, and no second of work at once: the lease of a gateway that works for three runs out.
    const brought = objects.slice(0, 12);
    for (const [i, object] of brought.entries())
      client.say({ kind: "OpenObject", request: i + 1, object, version: 1, state });
    await client.isAlive();
    await edge.close();
    const kinds = (): number[] =>
      home.accepted.flatMap(end => end.messages.map(each => readTrunk(each).kind));
    await expect.poll(() => home.accepted.every(({ hasEnded }) => hasEnded)).toBe(true);
    expect(kinds().filter(kind => kind === TO_HOME.frames)).toHaveLength(brought.length);
    expect(kinds().at(-1)).toBe(TO_HOME.leaves);
  },
);

test("MOE-19, CLU-3: a modulator beside a gateway is fed there, though its channel is about to move while it is installed", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
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
  const channel = there[0] as string;
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
