import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { expect, test } from "vitest";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);
const channel = "a";

test("RIGHT-11: a process that does not answer what its modulators use keeps no overview from coming", async () => {
  await using gateway = await createGateway();
  using mute = await RawClient.connect(gateway);
  mute.say({ kind: "OpenProducer", request: 1, channel, schema: NOTHING, modulates: true });
  await mute.next("ProducerOpened");
  using consumer = await RawClient.connect(gateway);
  const opening = { kind: "OpenConsumer", request: 1, channel, schema: NOTHING } as const;
  consumer.say({ ...opening, modulator: { ...modulator, source: "text" } });
  const { request, derived } = await mute.next("Install");
  mute.say({ kind: "Installed", request, derived });
  await consumer.next("ConsumerOpened");
  consumer.say({ kind: "WantOverview", request: 2, pattern: "**" });
  await mute.next("Survey");
  const { of } = await consumer.next("Overview");
  expect(of[0]?.derived[0]?.places).toMatchObject([{ at: 0, processes: 1, tier: "", events: 0n }]);
});

test("CON-5: an answer to no survey ends the connection", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "Surveyed", request: 3, uses: [] });
  expect((await client.closed).code).toBe(ERRORS.FRAME_UNEXPECTED[0]);
});

test("SLOW-1: an overview counts what was dropped for processes that did not keep up", async () => {
  await using gateway = await createGateway({ consumerQueueBytes: 0 });
  using slow = await RawClient.connect(gateway);
  slow.say({ kind: "OpenConsumer", request: 1, channel, schema: NOTHING });
  const { channel: number } = await slow.next("ConsumerOpened");
  slow.say({ kind: "Flow", derived: number, ready: false });
  await slow.isAlive();
  using fast = await RawClient.connect(gateway);
  fast.say({ kind: "OpenProducer", request: 1, channel, schema: NOTHING });
  const { producer } = await fast.next("ProducerOpened");
  for (let raised = 1; raised <= 5; raised++)
    fast.send(encodedRun({ channel: number, producer, raised }, new Uint8Array(100)));
  fast.say({ kind: "WantOverview", request: 2, pattern: "a" });
  const { of } = await fast.next("Overview");
  expect(of).toMatchObject([{ name: "a", consumers: 1, events: 5n, dropped: 4n }]);
});
