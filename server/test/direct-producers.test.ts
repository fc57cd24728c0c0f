import { createGateway } from "@jecho/server";
import { ERRORS, encodeEvent, type } from "@jecho/shared";
import { FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const Reading = type("Reading", { station: "uint32", zero: "uint32" });
const { schema, token } = Reading;

test("CHAN-9, HIST-1: who publishes behind a channel does not say what is kept of the channel itself", async () => {
  await using gateway = await createGateway();
  using sim = await RawClient.connect(gateway);
  const history = { events: 0, seconds: 0, latest: true, onDemand: false, durable: false };
  sim.say({ kind: "OpenProducer", request: 1, channel: "a", schema, history, key: "station" });
  const { channel, producer } = await sim.next("ProducerOpened");
  using eve = await RawClient.connect(gateway);
  eve.say({ kind: "OpenProducer", request: 1, channel: "a#hot", schema, key: "zero" });
  await eve.next("ProducerOpened");
  for (const station of [1, 2]) {
    const bytes = encodeEvent(Reading, { station, zero: 0 });
    sim.send(encodedRun({ channel, producer, raised: station, token }, bytes));
  }
  await sim.isAlive();
  using ana = await RawClient.connect(gateway);
  const from = { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 };
  ana.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, from });
  await ana.next("Replayed");
  expect(ana.frames.filter(({ kind }) => kind === "Events")).toHaveLength(2);
});

test.for(["a", "a#hot"])("CHAN-2: of a producer on %s that is refused nothing stays", async channel => {
  await using gateway = await createGateway();
  using eve = await RawClient.connect(gateway);
  eve.say({ kind: "OpenProducer", request: 1, channel, schema, instance: "x".repeat(65) });
  expect(await eve.next("Refused")).toMatchObject({ code: ERRORS.ARGUMENT_INVALID[0] });
  expect(gateway.stats().channels).toBe(0);
});
