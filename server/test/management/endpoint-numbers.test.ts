import { createGateway } from "@jecho/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { NameServer } from "../../src/management/name-server.ts";
import { RawClient } from "../raw-client.ts";

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
