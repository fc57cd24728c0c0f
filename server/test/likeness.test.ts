import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);

test("MOE-2: no parameters pass for another modulator's capabilities, and none for its key", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const numbers: number[] = [];
  for (const [parameters, key, capabilities] of [
    ["1", "", ["steer"]],
    ['#["steer"]=1', "", []],
    ["1", "2", []],
    ["#:2", "", []],
  ] as const) {
    const modulator = { source: "", parameters, key, objects: [], capabilities, compares: false };
    client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator });
    numbers.push((await client.next("ConsumerOpened")).channel);
  }
  expect(new Set(numbers).size).toBe(4);
});
