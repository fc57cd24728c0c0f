import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, joinFrames, type Outgoing } from "@jecho/shared/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  Connection,
  type ConnectionLimits,
  type ConnectionSocket,
} from "../../src/connections/connection.ts";
import { Inboxes } from "../../src/connections/inboxes.ts";
import { encodedRun, RawClient } from "../raw-client.ts";

const PING: Outgoing = { kind: "Ping", time: 1 };
const state = JSON.stringify({ values: Array.from({ length: 10_000 }, (_, i) => i) });

function times(count: number, make: (i: number) => Outgoing): Uint8Array {
  return joinFrames(Array.from({ length: count }, (_, i) => encodeControl(make(i))));
}

test.for<[kind: string, message: Uint8Array]>([
  ["WantType", times(30_000, i => ({ kind: "WantType", request: i + 1, token: 1n }))],
  ["WantTypes", times(30_000, i => ({ kind: "WantTypes", request: i + 1, channel: "a" }))],
  ["OpenConsumer", times(30_000, i => ({ kind: "OpenConsumer", request: i + 1, channel: "a#none" }))],
  ["OpenObject", times(30_000, i => ({ kind: "OpenObject", request: i + 1, object: "none" }))],
  ["PullObject", times(30_000, i => ({ kind: "PullObject", copy: i + 1 }))],
  ["ObjectUpdate", times(250, i => ({ kind: "ObjectUpdate", object: "one", version: i + 2, state }))],
  ["CloseEndpoint", times(150_000, i => ({ kind: "CloseEndpoint", endpoint: i + 1 }))],
  ["Ping", times(30_000, () => PING)],
  ["small messages", encodeControl({ kind: "CloseEndpoint", endpoint: 1 })],
])("CON-6, row 43: while one sends %s without end, another one is answered", async ([, message]) => {
  await using gateway = await createGateway();
  using many = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  many.say({ kind: "OpenObject", request: 1, object: "one", version: 1, state: "{}" });
  await many.next("CopyUpdate");
  for (let sent = 0; sent === 0 || (message.byteLength < 100 && sent < 50_000); sent++) many.send(message);
  many.say({ kind: "AskHandover", request: 1_000_000 });
  let looked = 0;
  const isDone = (): boolean => {
    const since = looked;
    looked = many.frames.length;
    return many.frames.slice(since).some(({ kind }) => kind === "HandoverToken");
  };
  // Both are in this thread, and so is the gateway: between two turns of its loop the other one has had its answer.
  let answers = 0;
  for (let isAsked = false; !isDone(); await new Promise(resolve => setImmediate(resolve))) {
    if (!isAsked) other.say(PING);
    isAsked = true;
    if (other.frames.length === 0) continue;
    answers++;
    isAsked = false;
    other.frames.length = 0;
  }
  expect(answers).toBeGreaterThan(2);
});

test("CON-6: what waits of a connection has a bound, and another one does not notice", async () => {
  await using gateway = await createGateway({ limitBytes: 1 << 20 });
  using many = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const message = times(15_000, i => ({ kind: "WantType", request: i + 1, token: 1n }));
  for (let sent = 0; sent < 80; sent++) many.send(message);
  expect(await many.closed).toMatchObject({
    code: ERRORS.OVERLOADED[0],
    reason: expect.stringContaining("more waits of what it asks for than may"),
  });
  await other.isAlive();
});

test("CON-6, row 43: requests of a connection that does not read its answers wait, and nothing else does", async () => {
  let unreadBytes = 0;
  const socket = { getBufferedAmount: () => unreadBytes } as ConnectionSocket;
  const limits = { requestTimeoutMs: 1000 } as ConnectionLimits;
  const connections = [new Connection(socket, limits), new Connection(socket, limits)] as const;
  const taken: [connection: number, kind: string][] = [];
  const inboxes = new Inboxes<Connection>(
    {
      frame: (connection, { kind }) => taken.push([connection === connections[0] ? 0 : 1, kind]),
      pause: () => {},
      done: () => {},
      failed: (_, error) => {
        throw error;
      },
    },
    { connectionBytes: 1 << 20, totalBytes: 1 << 20 },
  );
  const say = (connection: Connection, ...frames: Outgoing[]) =>
    inboxes.receive(connection, joinFrames(frames.map(encodeControl)), performance.now());
  const turn = () => new Promise(resolve => setImmediate(resolve));
  const asks: Outgoing = { kind: "WantType", request: 1, token: 1n };
  unreadBytes = 2 << 20;
  const flows: Outgoing = { kind: "Flow", derived: 1, ready: true };
  say(connections[0], flows, asks, flows);
  say(connections[0], PING);
  say(connections[1], flows);
  for (let turns = 0; turns < 3; turns++) await turn();
  expect(taken).toEqual([
    [0, "Flow"],
    [1, "Flow"],
  ]);
  expect(inboxes.largest).toBe(connections[0]);
  inboxes.drained(connections[0]);
  await turn();
  expect(taken).toHaveLength(2);
  unreadBytes = 0;
  inboxes.drained(connections[0]);
  await expect.poll(() => taken.slice(2)).toEqual(["WantType", "Flow", "Ping"].map(kind => [0, kind]));
  expect(inboxes.largest).toBeUndefined();
  inboxes.close();
});

test("CON-6: of a connection that was closed in order what waits is acted on, but no question; then it is over", async () => {
  const limits = { requestTimeoutMs: 1000 } as ConnectionLimits;
  const taken: string[] = [];
  const inboxes = new Inboxes<Connection>(
    {
      frame: (connection, { kind }) => {
        taken.push(kind);
        if (kind === "Kick") connection.end("OVERLOADED");
      },
      pause: () => {},
      done: () => {},
      failed: (_, error) => {
        throw error;
      },
    },
    { connectionBytes: 1 << 20, totalBytes: 1 << 20 },
  );
  const asks: Outgoing = { kind: "WantType", request: 1, token: 1n };
  const writes: Outgoing = { kind: "ObjectWrite", copy: 1 };
  const kicks: Outgoing = { kind: "Kick", request: 1, subject: "eve" };
  const waits = (...frames: Outgoing[]): Connection => {
    // Nothing of it is acted on before the socket has room.
    let unreadBytes = 2 << 20;
    const socket = { getBufferedAmount: () => unreadBytes, end: () => {} } as unknown as ConnectionSocket;
    const connection = new Connection(socket, limits);
    inboxes.receive(connection, joinFrames([asks, ...frames].map(encodeControl)), performance.now());
    unreadBytes = 0;
    const over = () => taken.push("over");
    expect(inboxes.closed(connection, over)).toBe(true);
    return connection;
  };
  waits(writes, asks, writes);
  await expect.poll(() => taken).toEqual(["ObjectWrite", "ObjectWrite", "over"]);
  // The connection is ended for something that it has sent.
  waits(kicks, writes);
  await expect.poll(() => taken.slice(3)).toEqual(["Kick", "over"]);
  // A subject may lose its rights in between.
  waits(writes).end("RIGHTS_CHANGED");
  await expect.poll(() => taken.slice(5)).toEqual(["over"]);
  waits(writes);
  inboxes.close();
  expect(taken.slice(6)).toEqual(["over"]);
  expect(inboxes.closed(new Connection({} as ConnectionSocket, limits), () => {})).toBe(false);
});

/** Inboxes by a clock that each frame takes 0.1 ms of. */
function slowInboxes() {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const limits = { requestTimeoutMs: 1000 } as ConnectionLimits;
  const socket = { getBufferedAmount: () => 0 } as ConnectionSocket;
  let taken = 0;
  const ignore = (): void => {};
  const frame = (): void => {
    taken++;
    now += 0.1;
  };
  const bounds = { connectionBytes: 1 << 20, totalBytes: 1 << 20 };
  const inboxes = new Inboxes<Connection>({ frame, pause: ignore, done: ignore, failed: ignore }, bounds);
  onTestFinished(() => inboxes.close());
  return {
    connection: () => new Connection(socket, limits),
    receive: (connection: Connection, message: Uint8Array) => inboxes.receive(connection, message, now),
    /** The number of frames acted on in each turn until so many have been. */
    async turns(frames: number): Promise<number[]> {
      const perTurn = [taken];
      while (taken < frames) {
        const before = taken;
        await new Promise(resolve => setImmediate(resolve));
        perTurn.push(taken - before);
      }
      return perTurn;
    },
  };
}

test("CON-6, row 43: a turn spends a millisecond on requests, whoever sent them", async () => {
  const { connection, receive, turns } = slowInboxes();
  const message = times(100, i => ({ kind: "WantType", request: i + 1, token: 1n }));
  for (let i = 0; i < 3; i++) receive(connection(), message);
  // The last one of each connection's slice is begun in time.
  expect(Math.max(...(await turns(300)))).toBeLessThanOrEqual(14);
});

const RUN = encodedRun({ channel: 1, producer: 1, raised: 1 });

test.for<[kind: string, message: Uint8Array, most: number]>([
  ["requests", encodeControl({ kind: "WantType", request: 1, token: 1n }), 14],
  ["what is no request", encodeControl({ kind: "CloseEndpoint", endpoint: 1 }), 14],
  ["events", RUN, 51],
])(
  "CON-6, row 53: of a turn, %s in messages of their own get no more than in one",
  async ([, message, most]) => {
    const { connection, receive, turns } = slowInboxes();
    const [many, other] = [connection(), connection()];
    for (let i = 0; i < 300; i++) receive(many, message);
    // One behind all of them has its turn at once.
    receive(other, RUN);
    const perTurn = await turns(301);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(most + 1);
    expect(perTurn.length).toBeGreaterThan(5);
  },
);

test("CON-6, row 53: runs of many events count by these", async () => {
  const { connection, receive, turns } = slowInboxes();
  const run = encodedRun({ channel: 1, producer: 1, raised: 1 }, ...Array(1024).fill(new Uint8Array(8)));
  receive(connection(), joinFrames(Array(100).fill(run)));
  // The clock is looked at after every four of them.
  expect((await turns(100))[0]).toBe(52);
});

test("CON-6: small messages that wait are counted with what they take", () => {
  const socket = { getBufferedAmount: () => 2 << 20 } as ConnectionSocket;
  const connection = new Connection(socket, { requestTimeoutMs: 1000 } as ConnectionLimits);
  const ignore = (): void => {};
  const bounds = { connectionBytes: 1 << 20, totalBytes: 1 << 20 };
  const inboxes = new Inboxes<Connection>(
    { frame: ignore, pause: ignore, done: ignore, failed: ignore },
    bounds,
  );
  let waiting = 0;
  while (inboxes.receive(connection, encodeControl(PING), performance.now())) waiting++;
  expect(waiting).toBeLessThanOrEqual((1 << 20) / 256);
  expect(inboxes.isFull).toBe(true);
  inboxes.forget(connection);
  expect(inboxes.isFull).toBe(false);
  inboxes.close();
});
