import { createGateway } from "@jecho/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { NameServer } from "../../src/management/name-server.ts";
import { RawClient } from "../raw-client.ts";

test("CON-8: the states that a modulator was brought with are kept by its objects alone, which have newer ones", async () => {
  const registered = vi.spyOn(NameServer.prototype, "registerDerived");
  onTestFinished(() => void registered.mockRestore());
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const objects = [{ name: "o", object: "o", version: 1, state: '{"x":1}', lazy: false }];
  const modulator = { source: "", parameters: "", key: "", objects, capabilities: [], compares: false };
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: new Uint8Array(0), modulator });
  await client.next("ConsumerOpened");
  const derived = registered.mock.calls[0]?.[0];
  expect(derived?.modulator.objects).toMatchObject([{ object: "o", state: "" }]);
  expect(derived?.wanted()).toMatchObject({ modulator: { objects: [{ object: "o", state: '{"x":1}' }] } });
});

test("the numbers of producers, consumers and copies are in use as long as these are there", async () => {
  const asked = vi.spyOn(NameServer.prototype, "newEndpoint");
  onTestFinished(() => void asked.mockRestore());
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "OpenProducer", request: 1, channel: "a" });
  const { producer } = await client.next("ProducerOpened");
  client.say({ kind: "OpenConsumer", request: 2, channel: "a" });
  const { consumer } = await client.next("ConsumerOpened");
  client.say({ kind: "OpenObject", request: 3, object: "o", version: 1, state: "{}" });
  const { copy } = await client.next("CopyUpdate");
  const [names] = asked.mock.contexts as NameServer[];
  const inUse = (): boolean[] =>
    [producer, consumer, copy].map(number => names?.hasEndpoint(number) === true);
  expect(inUse()).toEqual([true, true, true]);
  for (const endpoint of [producer, consumer, copy]) client.say({ kind: "CloseEndpoint", endpoint });
  await client.isAlive();
  expect(inUse()).toEqual([false, false, false]);
});
