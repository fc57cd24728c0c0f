import { connect } from "node:net";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const ROUNDS = 5000;

test.for<[what: string, header: string]>([
  ["10 KB in one", `x: ${"y".repeat(10_000)}`],
  ["200 of them", Array.from({ length: 200 }, (_, i) => `x${i}: y`).join("\r\n")],
])(
  "F14: a request with headers of %s is refused or its connection closed, and nobody else notices",
  async ([, header]) => {
    await using gateway = await createGateway({ server: "uWebSockets.js" });
    using other = await RawClient.connect(gateway);
    const socket = connect(gateway.port, gateway.host);
    const chunks: Buffer[] = [];
    socket.on("data", chunk => chunks.push(chunk)).on("error", () => {});
    const closed = new Promise(resolve => socket.once("close", resolve));
    socket.write(`GET /healthz HTTP/1.1\r\nHost: ${gateway.address}\r\n${header}\r\n\r\n`);
    await closed;
    const answer = Buffer.concat(chunks).toString("latin1");
    expect(answer === "" || /^HTTP\/1\.1 4\d\d /.test(answer)).toBe(true);
    await other.isAlive();
  },
);

test("F14: a request that comes a byte at a time is cut off in its time, and nobody else notices", async () => {
  await using gateway = await createGateway({ server: "uWebSockets.js" });
  using other = await RawClient.connect(gateway);
  const socket = connect(gateway.port, gateway.host);
  let isClosed = false;
  socket
    .on("error", () => {})
    .once("close", () => {
      isClosed = true;
    });
  const dribbling = setInterval(() => socket.writable && socket.write("G"), 100);
  await expect.poll(() => isClosed).toBe(true);
  clearInterval(dribbling);
  await other.isAlive();
  expect(gateway.stats().connections).toBe(1);
});

test("F9: of consumers that come and go by the thousand nothing stays, neither a channel nor a modulator", async () => {
  await using gateway = await createGateway({ resumeWindowMs: 0 });
  using client = await RawClient.connect(gateway);
  const modulator = { parameters: "", key: "", objects: [], capabilities: [], compares: false };
  const before = process.memoryUsage().arrayBuffers;
  for (let round = 0; round < ROUNDS; round += 100) {
    for (let i = 0; i < 100; i++)
      client.say({
        kind: "OpenConsumer",
        request: i + 1,
        channel: `come/${i % 7}`,
        schema: new Uint8Array(0),
        ...(i % 5 === 0 && { modulator: { ...modulator, source: String(i) } }),
      });
    await expect.poll(() => client.frames.filter(({ kind }) => kind === "ConsumerOpened").length).toBe(100);
    for (const frame of client.frames)
      if (frame.kind === "ConsumerOpened") client.say({ kind: "CloseEndpoint", endpoint: frame.consumer });
    await client.isAlive();
    client.frames.length = 0;
  }
  await expect
    .poll(() => gateway.stats())
    .toMatchObject({ connections: 1, channels: 0, derivedChannels: 0, historyBytes: 0 });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 << 20);
});
