import { createGateway } from "@jecho/server";
import { PROTOCOL } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { RawClient } from "../raw-client.ts";
import { listed } from "./joined.ts";

/** Two gateways, and a channel whose home is the second one. */
async function two() {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  const edge = await createGateway({ cluster: one });
  const home = await createGateway({ cluster: other });
  onTestFinished(async () => void (await Promise.all([edge.close(), home.close()])));
  await expect.poll(() => [edge, home].map(gateway => gateway.stats().gateways)).toEqual([2, 2]);
  const members = new Members(0, () => {});
  members.came(1);
  const isHeldThere = (name: string): boolean => !members.isHomeOf(name);
  const channel = Array.from({ length: 100 }, (_, i) => `sim/${i}`).find(isHeldThere) as string;
  return { edge, home, channel, isHeldThere };
}

test("HAND-5: a home keeps what a session has yielded for whoever goes on with it, though the first device has gone", async () => {
  const { edge, home, channel } = await two();
  using first = await RawClient.connect(edge);
  first.say({ kind: "OpenConsumer", request: 1, channel, schema: new Uint8Array(0), modulator: undefined });
  const { consumer, epoch } = await first.next("ConsumerOpened");
  first.say({ kind: "AskHandover", request: 2 });
  const { token } = await first.next("HandoverToken");
  const [edges = "", homes = ""] = token.split(".");
  const goOn = async (gateway: typeof edge, handover: string): Promise<RawClient> => {
    const client = await RawClient.connect(gateway, false);
    client.say({ kind: "Hello", protocol: PROTOCOL, handover });
    return client;
  };
  // The first part alone has the first device yield, for all.
  using second = await goOn(edge, edges);
  const { request, asked } = await first.next("Yield");
  const place = { consumer, epoch, seq: 0n, sources: [], label: "here", sinceMs: 0 };
  first.say({ kind: "Yielded", request, asked, places: [place], copies: [], objects: [] });
  expect(await second.next("Inheritance")).toMatchObject({ subscriptions: [] });
  first[Symbol.dispose]();
  await expect.poll(() => edge.stats().connections).toBe(1);
  using third = await goOn(home, homes);
  expect(await third.next("Inheritance")).toMatchObject({
    subscriptions: [{ channel, label: "here", epoch }],
  });
});

test("CLU-1, F15: what a stranger asks twice by one number, or brings that is no object, ends nobody else's connection", async () => {
  const { edge, channel, isHeldThere } = await two();
  using other = await RawClient.connect(edge);
  const schema = new Uint8Array(0);
  other.say({ kind: "OpenConsumer", request: 1, channel, schema });
  await other.next("ConsumerOpened");
  using stranger = await RawClient.connect(edge);
  stranger.say({ kind: "OpenConsumer", request: 1, channel, schema });
  await stranger.next("ConsumerOpened");
  stranger.say(
    { kind: "Kick", request: 2, subject: "nobody" },
    { kind: "AskHandover", request: 2 },
    { kind: "WantOverview", request: 2, pattern: "**" },
  );
  expect(await stranger.next("Kicked")).toMatchObject({ request: 2, connections: 0 });
  expect((await stranger.next("HandoverToken")).token).toContain(".");
  expect(await stranger.next("Overview")).toMatchObject({ request: 2 });
  const here = Array.from({ length: 100 }, (_, i) => `here/${i}`).find(name => !isHeldThere(name)) as string;
  const objects = Array.from({ length: 16 }, (_, i) => ({
    name: "o",
    object: `object ${i}`,
    version: 1,
    state: "no JSON",
    lazy: false,
  }));
  const modulator = { source: "x", parameters: "", key: "", objects, capabilities: [], compares: false };
  stranger.say({ kind: "OpenConsumer", request: 3, channel: here, schema, modulator });
  expect(await stranger.next("Refused")).toMatchObject({ request: 3, code: 4540 });
  await stranger.isAlive();
  await other.isAlive();
  expect(edge.stats().gateways).toBe(2);
});
