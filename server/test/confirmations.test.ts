import { createGateway } from "@jecho/server";
import { encodeControl, encodeRun, FLAG_SYNC } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const MANY = 200;

test("DEL-3: each message with events is confirmed once, by `Taken` or with a `Processed`", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  client.send(encodeControl({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: false }));
  const { channel, producer } = await client.next("ProducerOpened");
  const send = (raised: number, flags: number): void => {
    const header = { channel, producer, raised, token: 0n, parameters: 0, flags };
    client.send(encodeRun(header, [{ bytes: schema, start: 0, end: 0 }]));
  };
  for (let i = 0; i < MANY; i++) send(i + 1, i % 2 === 0 ? 0 : FLAG_SYNC);
  const confirmed = (kind: "Processed" | "Taken"): number =>
    client.frames.reduce((sum, frame) => {
      if (frame.kind !== kind) return sum;
      return sum + (frame.kind === "Taken" ? frame.messages : frame.taken);
    }, 0);
  await expect.poll(() => confirmed("Processed") + confirmed("Taken")).toBe(MANY);
  expect(confirmed("Processed")).toBeGreaterThan(0);
  await client.isAlive();
  expect(confirmed("Processed") + confirmed("Taken")).toBe(MANY);
});
