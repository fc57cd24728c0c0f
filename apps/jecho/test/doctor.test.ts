import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";
import { clock } from "../src/doctor-there.ts";
import { runCommand } from "./run-command.ts";

interface Found {
  readonly check: string;
  readonly state: string;
  readonly says: string;
  readonly todo?: string;
}

async function doctor(...args: string[]): Promise<{ code: number | null; found: Map<string, Found> }> {
  const { code, out } = await runCommand(["doctor", "--json", ...args]);
  const found = out
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line) as Found);
  return { code, found: new Map(found.map(one => [one.check, one])) };
}

test("doctor tries this machine and a gateway, and says what is well", async () => {
  await using gateway = await createGateway({ origins: ["http://page.example"] });
  const { code, found } = await doctor("--gateway", gateway.address, "--origin", "http://page.example");
  expect([...found.keys()]).toEqual([
    ...["node", "server", "modulators", "name", "port", "clock", "websocket", "origin", "session"],
  ]);
  expect([...found.values()].filter(({ state }) => state !== "ok")).toEqual([]);
  expect(found.get("modulators")?.says).toBe("a modulator ran with the producer (hosted)");
  expect(code).toBe(0);
});

test("doctor says what to do about a closed port, a foreign origin, a missing token and a gateway without TLS", async () => {
  const { checking, signing } = await createTokenKeys();
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const keyed = await doctor("--gateway", gateway.address, "--origin", "http://page.example");
  expect(keyed.code).toBe(1);
  expect(keyed.found.get("origin")).toMatchObject({
    state: "failure",
    todo: expect.stringContaining("--origin http://page.example"),
  });
  expect(keyed.found.get("session")).toMatchObject({ state: "failure", todo: "give a token: --token FILE" });
  const file = join(mkdtempSync(join(tmpdir(), "jecho-")), "ana.token");
  writeFileSync(file, `${await createToken(signing, { subject: "ana", can: ["subscribe:**"] })}\n`);
  const admitted = await doctor("--gateway", gateway.address, "--token", file);
  expect(admitted.found.get("token")?.says).toMatch(/^of ana, until .*, with 1 right$/);
  expect(admitted.found.get("session")?.says).toMatch(/^connected to ~[0-9a-f]{24}, as ana$/);
  writeFileSync(file, "no token");
  const none = await doctor("--gateway", gateway.address, "--token", file);
  expect(none.found.get("token")).toMatchObject({ state: "failure", says: "it is no JSON Web Token" });
  const tls = await doctor("--gateway", `https://${gateway.address}`);
  expect(tls.found.get("tls")).toMatchObject({
    state: "failure",
    todo: expect.stringContaining("no TLS at this port"),
  });
  const { port } = gateway;
  await gateway.close();
  const gone = await doctor("--gateway", `127.0.0.1:${port}`);
  expect(gone.found.get("port")).toMatchObject({
    state: "failure",
    todo: expect.stringContaining("jecho gateway"),
  });
});

test("doctor knows a server that is no gateway, or a proxy that passes no upgrade on", async () => {
  const server = createServer((request, answer) => {
    answer.statusCode = request.url === "/proxy/healthz" ? 200 : 404;
    answer.end();
  }).listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const other = await doctor("--gateway", `127.0.0.1:${port}`);
  expect(other.found.get("port")).toMatchObject({
    state: "failure",
    says: expect.stringContaining("answers 404"),
  });
  const proxy = await doctor("--gateway", `127.0.0.1:${port}/proxy`);
  expect(proxy.found.get("websocket")).toMatchObject({
    state: "failure",
    todo: expect.stringContaining("pass on Upgrade"),
  });
  server.close();
});

test("doctor tells how far clocks are apart", () => {
  const headers = { date: "Tue, 24 Nov 2026 06:00:00 GMT" };
  const there = Date.parse(headers.date);
  expect(clock({ headers }, there + 900)).toMatchObject({ state: "ok", says: "both clocks tell the same" });
  expect(clock({ headers }, there + 2000)).toMatchObject({ state: "ok", says: "the clocks are 1.0 s apart" });
  expect(clock({ headers }, there - 60_000)).toMatchObject({
    state: "warning",
    says: "the clocks are 60.0 s apart",
  });
  expect(clock({ headers: {} }, there)).toMatchObject({ state: "warning" });
});
