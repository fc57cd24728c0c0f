import { mkdtemp, readFile, stat } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, createToken, createTokenKeys, type GatewayOptions, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { PROTOCOL, SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { AuditLog } from "../../src/access/audit-log.ts";
import { Subject } from "../../src/access/subject.ts";
import type { ClientConnection } from "../../src/connections/client-connection.ts";
import { modulator, RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const controlling = { ...modulator, source: "controls" };

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
    client.say({ kind: "OpenConsumer", request: 2, channel: "a", modulator: controlling });
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
    {
      connection: 1,
      address,
      event: "refused",
      code: "TOKEN_INVALID",
      message: expect.stringContaining("the token is not taken"),
    },
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

test("row 56: names of megabytes, names with line breaks and many objects make lines of some KiB", async () => {
  const token = await createToken(signing, { subject: "eve", can: ["*:**"] });
  const names = ["x".repeat(1 << 20), 'a\n{"event":"forged"}'];
  const objects = Array.from({ length: 64 }, (_, i) => ({
    name: `o${i}`,
    object: `object-of-eve-${i}`,
    version: 1,
    state: "{}",
    lazy: false,
  }));
  const text = await audited({ tokens: { keys: checking } }, async gateway => {
    using eve = await RawClient.connect(gateway, token);
    for (const channel of names) eve.say({ kind: "OpenConsumer", request: 1, channel });
    for (const subject of names) eve.say({ kind: "Kick", request: 1, subject });
    eve.say({ kind: "OpenConsumer", request: 2, channel: "a", modulator: { ...controlling, objects } });
    await eve.next("ConsumerOpened");
  });
  expect(text.length).toBeLessThan(16 << 10);
  expect(text).not.toContain("object-of-eve");
  const lines = parsed(text) as { event: string; rights?: string[]; moreRights?: number }[];
  expect(lines.map(({ event }) => event)).toEqual([
    "connected",
    ...Array(4).fill("refused"),
    "done",
    "ended",
  ]);
  const [done] = lines.filter(({ event }) => event === "done");
  expect((done?.rights?.length ?? 0) + (done?.moreRights ?? 0)).toBe(67);
});

test("a connection that is refused has a line: for its token, and for a limit", async () => {
  const text = await audited({ tokens: { keys: checking }, connections: 1 }, async gateway => {
    {
      using stranger = await RawClient.connect(gateway, false);
      using second = await RawClient.connect(gateway, false);
      expect((await second.closed).code).toBe(ERRORS.OVERLOADED[0]);
      stranger.say({ kind: "Hello", protocol: PROTOCOL, token: "" });
      await stranger.closed;
    }
  });
  const address = "127.0.0.1";
  const refused = { address, event: "refused" };
  expect(parsed(text)).toEqual([
    { ...refused, code: "OVERLOADED", message: expect.stringContaining("at most 1 connections") },
    { connection: 1, ...refused, code: "TOKEN_INVALID", message: "this gateway wants a token" },
    { connection: 1, address, event: "ended", code: ERRORS.TOKEN_INVALID[0], why: "TOKEN_INVALID" },
  ]);
});

/** An audit log whose lines are all of one second. */
function logOfOneSecond(): { lines: string[]; log: AuditLog } {
  const lines: string[] = [];
  const log = new AuditLog(
    undefined,
    lineLog(line => lines.push(line), "debug"),
  );
  const second = vi.spyOn(performance, "now").mockReturnValue(5000);
  onTestFinished(() => void second.mockRestore());
  return { lines, log };
}

test("who is not let in, from however many addresses, hides nobody's deeds", () => {
  const { lines, log } = logOfOneSecond();
  for (let i = 0; i < 100; i++) log.refusedOrigin("7f000001", "https://evil.example");
  expect(lines).toHaveLength(20);
  for (let i = 0; i < 5000; i++) log.refusedOrigin(i.toString(16).padStart(16, "0"), "https://evil.example");
  expect(lines).toHaveLength(200);
  const eve = { address: "7f000001", subject: new Subject("eve", undefined, 0) } as ClientConnection;
  log.did(eve, { kind: "Kick", request: 1, subject: "ana" }, [["kick", "ana"]]);
  expect(lines.at(-1)).toContain("kick:ana");
});

test("a subject that comes again and again hides nobody's deeds", () => {
  const { lines, log } = logOfOneSecond();
  const as = (name: string) =>
    ({ address: "7f000001", subject: new Subject(name, undefined, 0) }) as ClientConnection;
  for (let i = 0; i < 1000; i++) {
    const eve = as("eve");
    log.connected(eve, "eve's");
    log.ended(eve, 1000);
  }
  expect(lines).toHaveLength(200);
  log.did(as("ana"), { kind: "Kick", request: 1, subject: "eve" }, [["kick", "eve"]]);
  expect(lines.at(-1)).toContain("kick:eve");
});

test("each deed stands there, however many objects come along, and though no right was needed for it", async () => {
  const token = await createToken(signing, { subject: "eve", can: ["*:**"] });
  const objects = Array.from({ length: 40 }, (_, i) => ({
    name: `o${i}`,
    object: `o${i}`,
    version: 1,
    state: "{}",
    lazy: false,
  }));
  const text = await audited({ tokens: { keys: checking } }, async gateway => {
    using eve = await RawClient.connect(gateway, token);
    eve.say({ kind: "AskHandover", request: 1 });
    await eve.next("HandoverToken");
    eve.say({
      kind: "OpenConsumer",
      request: 2,
      channel: "a",
      modulator: { ...controlling, objects },
      as: "hot",
    });
    await eve.next("ConsumerOpened");
  });
  const done = parsed(text).filter(line => "event" in line && line.event === "done");
  expect(done).toMatchObject([
    { frame: "AskHandover", rights: [] },
    { rights: expect.arrayContaining(["name:a#hot"]), moreRights: expect.any(Number) },
  ]);
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
