import { mkdtemp, readFile, stat } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, createToken, createTokenKeys, type GatewayOptions, lineLog } from "@jecho/server";
import { SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const modulator = {
  source: "controls",
  parameters: "",
  key: "",
  objects: [],
  capabilities: [],
  compares: false,
};

interface Line {
  readonly time: string;
  readonly event: string;
}

/** Runs a gateway with an audit log. @returns its text */
async function audited(
  options: GatewayOptions,
  act: (gateway: Awaited<ReturnType<typeof createGateway>>) => Promise<void>,
): Promise<string> {
  const auditFile = join(await mkdtemp(join(tmpdir(), "jecho-")), "audit.jsonl");
  {
    await using gateway = await createGateway({ ...options, auditFile });
    await act(gateway);
  }
  expect((await stat(auditFile)).mode & 0o777).toBe(0o600);
  return readFile(auditFile, "utf8");
}

const parsed = (text: string): object[] =>
  text
    .trimEnd()
    .split("\n")
    .map(line => {
      const { time, ...rest } = JSON.parse(line) as Line;
      expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
      return rest;
    });

test("the audit log says who came, was refused, and did what takes more than to listen, and never a token", async () => {
  const can = ["subscribe:a", "modulate:a", "control:a", "kick:ana"];
  const token = await createToken(signing, { subject: "ana", can });
  const text = await audited({ tokens: { keys: checking } }, async gateway => {
    using stranger = await RawClient.connect(gateway, false);
    stranger.say({ kind: "Hello", protocol: 1, token: `${token}x` });
    await stranger.closed;
    using client = await RawClient.connect(gateway, token);
    client.say({ kind: "OpenConsumer", request: 1, channel: "a" });
    await client.next("ConsumerOpened");
    client.say({ kind: "OpenConsumer", request: 2, channel: "a", modulator });
    await client.next("ConsumerOpened");
    client.say({ kind: "OpenProducer", request: 3, channel: "a" });
    await client.next("Refused");
    client.say({ kind: "Kick", request: 4, subject: "ana" });
    await client.closed;
  });
  expect(text).not.toContain(token.split(".")[1]);
  const [address, connection, subject] = ["127.0.0.1", 2, "ana"];
  const lines = parsed(text);
  expect(lines).toEqual([
    { connection: 1, address, event: "ended", code: 4553, why: "TOKEN_INVALID" },
    { connection, subject, address, event: "connected", program: "raw" },
    {
      connection,
      subject,
      address,
      event: "done",
      frame: "OpenConsumer",
      channel: "a",
      rights: ["subscribe:a", "modulate:a", "control:a"],
      modulator: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    {
      connection,
      subject,
      address,
      event: "refused",
      frame: "OpenProducer",
      channel: "a",
      code: "RIGHT_MISSING",
      message: "ana lacks the right publish:a",
    },
    { connection, subject, address, event: "ended", code: 4555, why: "KICKED" },
    { connection, subject, address, event: "done", frame: "Kick", rights: ["kick:ana"] },
  ]);
});

test("the audit log of a gateway without keys says the same of nobody, and which origins were refused", async () => {
  const text = await audited({}, async gateway => {
    using client = await RawClient.connect(gateway);
    client.say({ kind: "OpenProducer", request: 1, channel: "a" });
    await client.next("ProducerOpened");
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      origin: "https://evil.example",
      "sec-websocket-protocol": SUBPROTOCOL,
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    await new Promise(resolve => {
      request(`http://${gateway.address}/`, { headers }).on("response", resolve).end();
    });
  });
  const address = "127.0.0.1";
  expect(parsed(text).slice(0, 3)).toEqual([
    { connection: 1, address, event: "connected", program: "raw" },
    { connection: 1, address, event: "done", frame: "OpenProducer", channel: "a", rights: ["publish:a"] },
    { address, event: "refused", origin: "https://evil.example" },
  ]);
});

test("who causes many lines a second neither fills the audit log nor hides others in it", async () => {
  const token = await createToken(signing, { subject: "eve", can: [] });
  const text = await audited({ tokens: { keys: checking } }, async gateway => {
    using eve = await RawClient.connect(gateway, token);
    for (let i = 1; i <= 5000; i++) eve.say({ kind: "OpenProducer", request: i, channel: `secret/${i}` });
    const refusals = () => eve.frames.filter(({ kind }) => kind === "Refused").length;
    await expect.poll(refusals).toBe(5000);
    using other = await RawClient.connect(gateway, await createToken(signing, { subject: "ana", can: [] }));
    await other.isAlive();
  });
  const lines = parsed(text) as { event: string; subject?: string; lines?: number }[];
  expect(lines.length).toBeLessThan(500);
  for (const subject of ["ana", "eve"])
    for (const event of ["connected", "ended"])
      expect(lines).toContainEqual(expect.objectContaining({ event, subject }));
  const omitted = lines.reduce(
    (sum, { event, lines: many = 0 }) => sum + (event === "omitted" ? many : 0),
    0,
  );
  expect(omitted + lines.filter(({ event }) => event === "refused").length).toBe(5000);
});

test("row 56: names of megabytes, names with line breaks and objects by the thousand make lines of some KiB", async () => {
  const token = await createToken(signing, { subject: "eve", can: ["*:**"] });
  const names = ["x".repeat(1 << 20), 'a\n{"event":"forged"}'];
  const objects = Array.from({ length: 1000 }, (_, i) => ({
    name: `o${i}`,
    object: `object-of-eve-${i}`,
    version: 1,
    state: "{}",
    lazy: false,
  }));
  const text = await audited({ tokens: { keys: checking } }, async gateway => {
    using eve = await RawClient.connect(gateway, token);
    for (const channel of names) eve.say({ kind: "OpenConsumer", request: 1, channel });
    eve.say({ kind: "OpenConsumer", request: 2, channel: "a", modulator: { ...modulator, objects } });
    await eve.next("ConsumerOpened");
  });
  expect(text.length).toBeLessThan(16 << 10);
  expect(text).not.toContain("object-of-eve");
  const lines = parsed(text) as { event: string; rights?: string[]; moreRights?: number }[];
  expect(lines.map(({ event }) => event)).toEqual(["connected", "refused", "refused", "done", "ended"]);
  const [done] = lines.filter(({ event }) => event === "done");
  expect((done?.rights?.length ?? 0) + (done?.moreRights ?? 0)).toBe(1003);
});

test("the gateway's log counts the refusals that it leaves out, and says nothing of what is done all day", async () => {
  const token = await createToken(signing, { subject: "eve", can: ["publish:mine/**"] });
  const omittedOf = async (folder: string): Promise<string[]> => {
    const lines: string[] = [];
    const log = lineLog(line => lines.push(line), "info");
    {
      await using gateway = await createGateway({ tokens: { keys: checking }, log });
      using eve = await RawClient.connect(gateway, token);
      for (let i = 1; i <= 100; i++) eve.say({ kind: "OpenProducer", request: i, channel: `${folder}/${i}` });
      await eve.isAlive();
    }
    return lines.filter(line => line.includes("omitted"));
  };
  expect(await omittedOf("mine")).toEqual([]);
  expect((await omittedOf("secret")).join()).toMatch(/omitted lines=\d+ refusals=\d+/);
});

test("an audit log that cannot be written is an error at the start", async () => {
  const created = createGateway({ auditFile: "/there/is/none" });
  await expect(created).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
});
