import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { createGateway, type Gateway, type GatewayOptions, lineLog } from "@jecho/server";
import { SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";

const PROTOCOL = { "sec-websocket-protocol": SUBPROTOCOL };
const lines: string[] = [];

function start(options: GatewayOptions = {}): Promise<Gateway> {
  lines.length = 0;
  return createGateway({ ...options, log: lineLog(line => lines.push(line)) });
}

/** @returns the status, and what every refusal has to say of itself */
function upgrade(
  gateway: Gateway,
  headers: Record<string, string>,
): Promise<{ status: number; policy: unknown }> {
  return new Promise((resolve, reject) => {
    const key = { "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
    const asked = request(`http://127.0.0.1:${gateway.port}/`, {
      headers: { connection: "Upgrade", upgrade: "websocket", ...key, ...headers },
    });
    asked.on("response", ({ statusCode = 0, headers }) =>
      resolve({ status: statusCode, policy: headers["content-security-policy"] }),
    );
    asked.on("upgrade", (_, socket) => {
      socket.destroy();
      resolve({ status: 101, policy: undefined });
    });
    asked.on("error", reject);
    asked.end();
  });
}

test("WIRE-1: an upgrade without the subprotocol is answered 400, one from a foreign origin 403", async () => {
  await using gateway = await start({ origins: ["https://friend.example"] });
  const status = async (headers: Record<string, string>) => (await upgrade(gateway, headers)).status;
  expect(await status({})).toBe(400);
  expect(await status({ "sec-websocket-protocol": "other" })).toBe(400);
  expect(await status({ ...PROTOCOL, origin: "https://evil.example" })).toBe(403);
  expect(await status({ ...PROTOCOL, origin: "null" })).toBe(403);
  expect(await status(PROTOCOL)).toBe(101);
  expect(await status({ ...PROTOCOL, origin: `http://${gateway.address}` })).toBe(101);
  expect(await status({ ...PROTOCOL, origin: "https://friend.example" })).toBe(101);
});

test.for<[host: string, status: number, options?: GatewayOptions]>([
  ["evil.example", 403],
  ["localhost.evil.example", 403],
  ["127.0.0.1.evil.example", 403],
  ["evil.example", 403, { hosts: ["viewer.example"] }],
  ["viewer.example", 101, { hosts: ["viewer.example"] }],
  ["VIEWER.example", 101, { hosts: ["viewer.example"] }],
  ["localhost", 101],
  ["127.0.0.1", 101],
  ["[::1]", 101],
  ["192.168.7.7", 101],
  ["localhost", 101, { host: "localhost" }],
])("WIRE-1: a page of the origin %s is answered %i", async ([name, expected, options = {}]) => {
  await using gateway = await start(options);
  const host = `${name}:${gateway.port}`;
  const { status } = await upgrade(gateway, { ...PROTOCOL, host, origin: `http://${host.toLowerCase()}` });
  expect(status).toBe(expected);
  // A program says no origin, and knows by itself whom it wants to reach.
  expect((await upgrade(gateway, { ...PROTOCOL, host })).status).toBe(101);
  if (expected === 403) expect(lines).toEqual([expect.stringContaining(`(--allow-host "${name}")`)]);
  else expect(lines).toEqual([]);
});

test("WIRE-1: a refused origin is logged once, with what allows it, and no more than a hundred are", async () => {
  await using gateway = await start();
  for (const origin of ["https://evil.example", "https://evil.example", "null", 'http://a"\u009b31m'])
    await upgrade(gateway, { ...PROTOCOL, origin });
  expect(lines).toEqual([
    `pages of "https://evil.example" may not connect: that is not the gateway's own origin (--origin "https://evil.example")`,
    expect.stringContaining('pages of "null" may not connect'),
    expect.stringMatching(/^pages of "http:\/\/a\\"[^\u009b]*31m" may not connect/),
  ]);
  for (let i = 0; i < 200; i++) await upgrade(gateway, { ...PROTOCOL, origin: `https://${i}.example` });
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toBe("pages of more origins may not connect; they are not logged");
});

test.for<[origin: string, host: string, refused: string | undefined]>([
  ["https://evil.example", "", '(--origin "https://evil.example")'],
  ["https://friend.example", "", undefined],
  ["", "lab.example:8080", '(--allow-host "lab.example")'],
  ["", "localhost:8080", undefined],
])("WIRE-1: a page of origin %j at host %j asks whether it may connect", async ([origin, host, refused]) => {
  await using gateway = await start({ origins: ["https://friend.example"] });
  const [answered] = (await once(
    request(`http://${gateway.address}/admission`, {
      headers: { ...(origin !== "" && { origin }), ...(host !== "" && { host }) },
    }).end(),
    "response",
  )) as [IncomingMessage];
  expect(answered.headers).toMatchObject({
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
  });
  const { admitted, message } = JSON.parse(await text(answered));
  expect(admitted).toBe(refused === undefined);
  expect(message ?? "").toContain(refused ?? "");
  // Who only asks fills no log.
  expect(lines).toEqual([]);
});

test("what is no page may do nothing, and nobody is told how much a gateway has", async () => {
  await using gateway = await start();
  const health = await fetch(`http://${gateway.address}/healthz`);
  expect(await health.json()).toEqual({ status: "ok" });
  expect(gateway.stats()).toEqual({
    connections: 0,
    channels: 0,
    derivedChannels: 0,
    historyBytes: 0,
    historyWaitingBytes: 0,
    blocking: 0,
    gateways: 1,
    queueBytes: 0,
  });
  const nothing = await fetch(`http://${gateway.address}/nothing`);
  expect(nothing.status).toBe(404);
  for (const { headers } of [health, nothing]) {
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  expect((await upgrade(gateway, {})).policy).toContain("default-src 'none'");
  expect((await upgrade(gateway, { ...PROTOCOL, origin: "null" })).policy).toContain("default-src 'none'");
});
