import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

/* Codes that no client of ours provokes: one that says what it may not, or when it is too late. */

test("PROTOCOL_UNSUPPORTED: a version that the gateway does not speak ends the connection", async () => {
  await using gateway = await createGateway();
  const socket = new WebSocket(`ws://${gateway.address}/`, "jecho.1");
  const closed = new Promise<CloseEvent>(resolve => socket.addEventListener("close", resolve));
  socket.addEventListener("open", () =>
    socket.send(Uint8Array.from(encodeControl({ kind: "Hello", protocol: 99 }))),
  );
  expect((await closed).code).toBe(ERRORS.PROTOCOL_UNSUPPORTED[0]);
});

test("ENDPOINT_UNKNOWN: what is said of a copy that the connection does not have is answered by a fault", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  client.say({ kind: "PullObject", copy: 99, derived: 0, object: "" });
  expect(await client.next("Fault")).toMatchObject({ code: ERRORS.ENDPOINT_UNKNOWN[0] });
  await client.isAlive();
});

test("PRODUCER_GONE: a modulator is not fed with what a process raises that has gone", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const feed = { process: 99, channel: 1 };
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: new Uint8Array(0), feed });
  expect(await client.next("Refused")).toMatchObject({ code: ERRORS.PRODUCER_GONE[0] });
  await client.isAlive();
});
