import { createGateway } from "@jecho/server";
import { FLAG_SYNC, parseMessage } from "@jecho/shared/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { Confirmations } from "../../src/connections/confirmations.ts";
import {
  Connection,
  type ConnectionLimits,
  type ConnectionSocket,
} from "../../src/connections/connection.ts";
import { encodedRun, RawClient } from "../raw-client.ts";

const MANY = 200;

test("DEL-3: what came before a `Ping` is confirmed before its `Pong`", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  client.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: false });
  const { channel, producer } = await client.next("ProducerOpened");
  for (let raised = 1; raised <= MANY; raised++)
    client.send(encodedRun({ channel, producer, raised }, schema));
  client.say({ kind: "Ping", time: 1 });
  const pong = (): number => client.frames.findIndex(({ kind }) => kind === "Pong");
  await expect.poll(pong).toBeGreaterThanOrEqual(0);
  const confirmed = client.frames
    .slice(0, pong())
    .reduce((sum, frame) => sum + (frame.kind === "Taken" ? frame.messages : 0), 0);
  expect(confirmed).toBe(MANY);
});

test("DEL-3: each message with events is confirmed once, by `Taken` or with a `Processed`", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  client.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: false });
  const { channel, producer } = await client.next("ProducerOpened");
  const send = (raised: number, flags: number): void =>
    client.send(encodedRun({ channel, producer, raised, flags }, schema));
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

test("DEL-3: a message waits for its confirmation from when it came, whatever was confirmed with a `Processed` before", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const confirmed: number[] = [];
  const send: ConnectionSocket["send"] = message => {
    parseMessage(new Uint8Array(message as Uint8Array), frame => {
      if (frame.kind === "Taken") confirmed.push(frame.messages);
    });
    return 1;
  };
  const connection = new Connection(
    { send } as ConnectionSocket,
    { requestTimeoutMs: 1000 } as ConnectionLimits,
  );
  const confirmations = new Confirmations();
  confirmations.took(connection, 8);
  vi.advanceTimersByTime(60);
  // Those go with a `Processed`.
  expect(connection.takeUnconfirmed()).toBe(1);
  confirmations.took(connection, 8);
  vi.advanceTimersByTime(60);
  confirmations.took(connection, 8);
  expect(confirmed).toEqual([]);
  vi.advanceTimersByTime(60);
  expect(confirmed).toEqual([2]);
  vi.advanceTimersByTime(1000);
  expect(confirmed).toEqual([2]);
  confirmations.close();
});
