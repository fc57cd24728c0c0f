import { createGateway, type Gateway } from "@jecho/server";
import { encodeControl, joinFrames, type OpenProducer } from "@jecho/shared/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { encodedRun, RawClient } from "../raw-client.ts";

const OPENINGS = 20_000;

/** A message that asks for so many endpoints, each of a channel of its own. */
function openings(
  count: number,
  name: string,
  kind: "OpenConsumer" | "OpenProducer" = "OpenConsumer",
  how: Partial<OpenProducer> = {},
): Uint8Array {
  return joinFrames(
    Array.from({ length: count }, (_, i) =>
      encodeControl({ kind, request: i + 1, channel: `${name}/${i}`, schema: new Uint8Array(0), ...how }),
    ),
  );
}

/** Calls back with the number of the gateway's channels in each turn of the event loop, which is this thread's, until there are so many. */
async function eachTurn(gateway: Gateway, most: number, look: (channels: number) => void): Promise<void> {
  for (let channels = 0; channels < most; channels = gateway.stats().channels) {
    look(channels);
    await new Promise(resolve => setImmediate(resolve));
  }
}

test("CON-6: what is to be opened at once is opened in portions, in its order, and others go on in between", async () => {
  await using gateway = await createGateway();
  using many = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  many.send(openings(OPENINGS, "many"));
  const turns = new Set<number>();
  let whenAnswered = 0;
  let isAsked = false;
  await eachTurn(gateway, OPENINGS + 1, channels => {
    turns.add(channels);
    if (channels > 0 && !isAsked) {
      isAsked = true;
      other.send(openings(1, "other"));
    }
    if (whenAnswered === 0 && other.frames.length > 0) whenAnswered = channels;
  });
  expect(turns.size).toBeGreaterThan(4);
  expect(whenAnswered).toBeGreaterThan(0);
  await expect.poll(() => many.frames.length).toBe(OPENINGS);
  const requests = many.frames.map(frame => (frame.kind === "ConsumerOpened" ? frame.request : 0));
  expect(requests).toEqual(Array.from({ length: OPENINGS }, (_, i) => i + 1));
});

test("CON-6: what waits to be opened for a connection that goes is not opened", async () => {
  await using gateway = await createGateway({ resumeWindowMs: 0 });
  const many = await RawClient.connect(gateway);
  many.send(openings(OPENINGS, "many"));
  await expect.poll(() => gateway.stats().channels, { interval: 0 }).toBeGreaterThan(0);
  many[Symbol.dispose]();
  await many.closed;
  await expect.poll(() => gateway.stats()).toMatchObject({ connections: 0, channels: 0 });
});

test.for(["OpenConsumer", "OpenProducer"] as const)(
  "CON-6, row 43: the many endpoints of a connection that goes (%s) are let go of in portions, and others go on in between",
  async kind => {
    await using gateway = await createGateway({ resumeWindowMs: 0 });
    using many = await RawClient.connect(gateway);
    many.send(openings(OPENINGS, "many", kind));
    await expect.poll(() => gateway.stats().channels).toBe(OPENINGS);
    many[Symbol.dispose]();
    const left = new Set<number>();
    for (let channels = OPENINGS; channels > 0; channels = gateway.stats().channels) {
      left.add(channels);
      await new Promise(resolve => setImmediate(resolve));
    }
    expect(left.size).toBeGreaterThan(4);
  },
);

test("CON-6, HIST-1: what is too old of very many channels goes in portions, and others go on in between", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  await using gateway = await createGateway();
  using many = await RawClient.connect(gateway);
  const history = { events: 0, seconds: 1e-3, latest: false, onDemand: false, durable: false };
  many.send(openings(OPENINGS, "many", "OpenProducer", { history }));
  await many.isAlive();
  const runs = many.frames.flatMap(frame => {
    if (frame.kind !== "ProducerOpened") return [];
    const { channel, producer } = frame;
    return encodedRun({ channel, producer, raised: 1 }, new Uint8Array(64));
  });
  many.send(joinFrames(runs));
  await many.isAlive();
  const kept = new Set<number>();
  vi.advanceTimersByTime(5000);
  for (let { historyBytes } = gateway.stats(); historyBytes > 0; { historyBytes } = gateway.stats()) {
    kept.add(historyBytes);
    await new Promise(resolve => setImmediate(resolve));
  }
  expect(kept.size).toBeGreaterThan(2);
});
