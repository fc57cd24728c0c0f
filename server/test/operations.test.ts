import { readFile } from "node:fs/promises";
import {
  createGateway,
  createToken,
  createTokenKeys,
  type Gateway,
  type GatewayOptions,
} from "@jecho/server";
import { ERRORS, type ErrorCode } from "@jecho/shared";
import { encodeControl, type Outgoing, PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const NOTHING = new Uint8Array(0);
const operations = { port: 0 };

async function ask(gateway: Gateway, path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://127.0.0.1:${gateway.operationsPort}${path}`);
  return { status: answer.status, text: await answer.text() };
}

/** The metrics of a gateway, by their names with labels. */
async function metricsOf(gateway: Gateway): Promise<Map<string, number>> {
  const { text } = await ask(gateway, "/metrics");
  const lines = text.split("\n").filter(line => line !== "" && !line.startsWith("#"));
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

const reached = (limit: string) => `jecho_limit_reached_total{limit="${limit}"}`;

test("a gateway answers how it is at a port of its own, on this machine alone, and only where it is asked to", async () => {
  await using silent = await createGateway();
  expect(silent.operationsPort).toBeUndefined();
  await using gateway = await createGateway({ operations });
  expect(await ask(gateway, "/healthz")).toEqual({ status: 200, text: '{"status":"ok"}\n' });
  expect(await ask(gateway, "/readyz")).toEqual({ status: 200, text: '{"status":"ready"}\n' });
  expect((await ask(gateway, "/")).status).toBe(404);
  expect((await fetch(`http://${gateway.address}/metrics`)).status).toBe(404);
  const taken = createGateway({ operations: { port: gateway.operationsPort ?? 0 } });
  await expect(taken).rejects.toThrow("another program has this port");
});

test("a gateway is not ready until its process for modulators is there, and when it ends", async () => {
  const ready = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let port = 0;
  const starting = createGateway({
    operations: { port: await freePort() },
    modulating: () => ({ ready: ready.promise, close: () => closed.promise }),
  });
  const states = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
  port = lastPort;
  await expect.poll(() => states().catch(() => 0)).toBe(503);
  ready.resolve();
  await using gateway = await starting;
  await expect.poll(states).toBe(200);
  const closing = gateway.close();
  await expect.poll(states).toBe(503);
  closed.resolve();
  await closing;
});

let lastPort = 0;

async function freePort(): Promise<number> {
  await using gateway = await createGateway();
  lastPort = gateway.port;
  return lastPort;
}

test("every limit of SECURITY.md has a metric of what it is set to, and of how often it was reached", async () => {
  const security = await readFile(new URL("../../SECURITY.md", import.meta.url), "utf8");
  // Another table lists the limits of producers.
  const [gateways = ""] = security.split("A producer's owner bounds");
  const limits = [...gateways.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)];
  expect(limits.length).toBeGreaterThan(15);
  await using gateway = await createGateway({ operations });
  const metrics = await metricsOf(gateway);
  for (const [, limit, usual] of limits) {
    expect(metrics.get(`jecho_limit{limit="${limit}"}`), limit).toBe(Number(usual));
    expect(metrics.get(reached(limit as string)), limit).toBe(0);
  }
});

const modulator = { source: "text", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const consume = { kind: "OpenConsumer", request: 1, channel: "a", schema: NOTHING } as const;
const produce = { kind: "OpenProducer", request: 1, channel: "a", schema: NOTHING } as const;
const object = { name: "o", object: "view", version: 1, state: "{}", lazy: false };

/** A limit, what reaches it where it is set so, and the code of the answer. */
const REACHED: readonly [limit: string, options: GatewayOptions, frame: Outgoing, code: ErrorCode][] = [
  ["channels", { channels: 0 }, consume, "OVERLOADED"],
  ["endpointsPerConnection", { endpointsPerConnection: 0 }, consume, "OVERLOADED"],
  [
    "modulatorsPerConnection",
    { modulatorsPerConnection: 0 },
    { ...consume, modulator },
    "MODULATOR_QUOTA_EXCEEDED",
  ],
  ["modulatorLength", { modulatorLength: 3 }, { ...consume, modulator }, "MODULATOR_TOO_LARGE"],
  [
    "objectsPerConnection",
    { objectsPerConnection: 0 },
    { ...consume, modulator: { ...modulator, objects: [object] } },
    "OVERLOADED",
  ],
  ["labelLength", { labelLength: 0 }, { ...consume, label: "a" }, "ARGUMENT_INVALID"],
  ["schemaBytes", { schemaBytes: 3 }, { ...produce, schema: new Uint8Array(8) }, "TYPE_INVALID"],
];

test.for(REACHED)(
  "reaching %s is counted, and the refusal by its code",
  async ([limit, options, frame, code]) => {
    await using gateway = await createGateway({ ...options, operations });
    using client = await RawClient.connect(gateway);
    client.say(frame);
    expect(await client.next("Refused")).toMatchObject({ code: ERRORS[code][0] });
    const metrics = await metricsOf(gateway);
    expect(metrics.get(reached(limit))).toBe(1);
    expect(metrics.get(`jecho_refusals_total{code="${code}"}`)).toBe(1);
  },
);

test("what connections may not is counted by its limit, and how they ended", async () => {
  const limited: [limit: string, options: GatewayOptions][] = [
    ["connections", { connections: 0 }],
    ["connectionsPerAddress", { connectionsPerAddress: 0 }],
    ["framesPerSecond", { framesPerSecond: 0 }],
    ["bytesPerSecond", { bytesPerSecond: 0 }],
  ];
  const hello = (token: string): Outgoing => ({ kind: "Hello", protocol: PROTOCOL, token });
  const { signing, checking } = await createTokenKeys();
  const token = await createToken(signing, { subject: "ana", can: [] });
  limited.push(["connectionsPerSubject", { connectionsPerSubject: 0, tokens: { keys: checking } }]);
  for (const [limit, options] of limited) {
    await using gateway = await createGateway({ ...options, operations });
    const socket = new WebSocket(`ws://${gateway.address}/`, "jecho.1");
    const closed = new Promise<CloseEvent>(resolve => socket.addEventListener("close", resolve));
    socket.addEventListener("open", () => socket.send(Uint8Array.from(encodeControl(hello(token)))));
    expect((await closed).code, limit).toBe(ERRORS.OVERLOADED[0]);
    expect((await metricsOf(gateway)).get(reached(limit)), limit).toBe(1);
  }
  await using gateway = await createGateway({ operations });
  const client = await RawClient.connect(gateway);
  client[Symbol.dispose]();
  await client.closed;
  const ended = async () =>
    [...(await metricsOf(gateway))].find(([name]) => name.startsWith("jecho_connections_ended_total{"))?.[1];
  await expect.poll(ended).toBe(1);
});

test.each(["uWebSockets.js", "ws"] as const)(
  "a message that is too large is counted, with %s",
  async server => {
    await using gateway = await createGateway({ limitBytes: 1024, operations, server });
    using client = await RawClient.connect(gateway);
    client.send(new Uint8Array(4096));
    await client.closed;
    await expect.poll(async () => (await metricsOf(gateway)).get(reached("limitBytes"))).toBe(1);
  },
);

/** Five events of 100 bytes come, are kept, and are dropped for somebody who takes none. */
async function countDropping(options: GatewayOptions): Promise<Map<string, number>> {
  await using gateway = await createGateway({ ...options, operations });
  using slow = await RawClient.connect(gateway);
  slow.say(consume);
  const { channel } = await slow.next("ConsumerOpened");
  slow.say({ kind: "Flow", derived: channel, ready: false });
  await slow.isAlive();
  using fast = await RawClient.connect(gateway);
  fast.say({
    ...produce,
    history: { events: 100, seconds: 0, latest: false, onDemand: false, durable: false },
  });
  const { producer } = await fast.next("ProducerOpened");
  for (let raised = 1; raised <= 5; raised++)
    fast.send(encodedRun({ channel, producer, raised }, new Uint8Array(100)));
  await fast.isAlive();
  return await metricsOf(gateway);
}

test("events are counted, those dropped by the limit of the queue, and those that history lets go", async () => {
  const metrics = await countDropping({ consumerQueueBytes: 0, historyBytes: 300 });
  expect(metrics.get("jecho_events_total")).toBe(5);
  expect(metrics.get("jecho_event_bytes_total")).toBeGreaterThan(500);
  expect(metrics.get("jecho_events_dropped_total")).toBe(4);
  expect(metrics.get(reached("consumerQueueBytes"))).toBe(4);
  expect(metrics.get(reached("historyBytes"))).toBeGreaterThan(0);
  expect(metrics.get("jecho_connections")).toBe(2);
  expect(metrics.get("jecho_channels")).toBe(1);
  expect(metrics.get("nodejs_eventloop_lag_seconds")).toBeGreaterThanOrEqual(0);
  const total = await countDropping({ connectionQueueBytes: 0, historyTotalBytes: 300 });
  expect(total.get(reached("connectionQueueBytes"))).toBe(4);
  expect(total.get(reached("historyTotalBytes"))).toBeGreaterThan(0);
});

const deployed = (name: string): Promise<string> =>
  readFile(new URL(`../../deploy/${name}`, import.meta.url), "utf8");

test("the dashboard and the alerts name metrics that there are", async () => {
  await using gateway = await createGateway({ operations });
  const { text } = await ask(gateway, "/metrics");
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  const dashboard = JSON.parse(await deployed("grafana.json")) as {
    panels: { targets: { expr: string }[] }[];
  };
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(10);
  const alerts = [...(await deployed("alerts.yml")).matchAll(/expr: (.*)/g)].map(([, expr = ""]) => expr);
  expect(alerts.length).toBeGreaterThan(5);
  const named = [...queries, ...alerts].flatMap(
    query => query.match(/\b(?:jecho|nodejs|process)_\w+/g) ?? [],
  );
  expect(named.filter(name => !known.has(name))).toEqual([]);
});
