import { createGateway } from "@jecho/server";
import { PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { RawClient } from "../raw-client.ts";
import { listed } from "./joined.ts";

test("HAND-5: a home keeps what a session has yielded for whoever goes on with it, though the first device has gone", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  await using edge = await createGateway({ cluster: one });
  await using home = await createGateway({ cluster: other });
  await expect.poll(() => [edge, home].map(gateway => gateway.stats().gateways)).toEqual([2, 2]);
  const members = new Members(0, () => {});
  members.came(1);
  const channel = Array.from({ length: 100 }, (_, i) => `sim/${i}`).find(
    name => !members.isHomeOf(name),
  ) as string;
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
