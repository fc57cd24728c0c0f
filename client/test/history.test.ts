import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { connect, type Producer, type Session, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createGateway, lineLog } from "@jecho/server";
import { expect, inject, test } from "vitest";
import { Inbox, numbersOf, startRig, whenLater, whenState } from "./rig.ts";

const place = inject("place");
const Count = type("Count", { n: "uint32" });
const Reading = type("Reading", { station: "string", value: "float64" });

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

test("HIST-1: a consumer begins with a past event and goes on live without a gap", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce({ history: { events: 500 } });
  let n = 0;
  for (; n < 1000; n++) producer.publish({ n });
  await producing.flush();
  const early = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => early.put(n), { from: 901 });
  for (; n < 1200; n++) producer.publish({ n });
  // Event 901 of the channel is the one with n = 900.
  expect(await early.take(300)).toEqual(numbers(900, 1200));
  expect(consumer.stats.missed).toBe(0);
  await expect.poll(() => consumer.status.replaying ?? false).toBe(false);
});

test("HIST-2: no more is kept than was asked for, and what is asked for beyond it is left out", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce({ history: { events: 100 } });
  for (let n = 0; n < 1000; n++) {
    producer.publish({ n });
    if (n % 10 === 9) await producing.flush();
  }
  const seen = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => seen.put(n), { from: 1 });
  const [first = 0] = await seen.take(1);
  expect(consumer.status).toMatchObject({ recovered: false, missing: first });
  expect(first).toBeGreaterThanOrEqual(890);
  expect(first).toBeLessThanOrEqual(900);
  expect(await seen.take(1000 - first)).toEqual(numbers(first, 1000));
});

test("HIST-2: an event that is neither the next nor has come is refused, and a time before what is kept is told", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce({ history: { events: 10 } });
  for (let n = 0; n < 100; n++) {
    producer.publish({ n });
    await producing.flush();
  }
  const channel = rig.session().channel("a", Count);
  await expect(channel.subscribe(() => {}, { from: 102 })).rejects.toMatchObject({
    code: "HISTORY_EXCEEDED",
  });
  const next = new Inbox<number>();
  await channel.subscribe(({ n }) => next.put(n), { from: 101 });
  const since = await channel.subscribe(() => {}, { from: new Date(0) });
  expect(since.status.recovered).toBe(false);
  producer.publish({ n: 100 });
  expect(await next.take(1)).toEqual([100]);
});

test("HIST-2, DEL-4: what is forgotten of a past while it comes is told, whether its producers are there, have gone, or began meanwhile", async () => {
  await using rig = await startRig();
  const history = { events: 3 };
  const raise = async (producing: Session, producer: Producer<typeof Count.event>, events: number) => {
    for (let n = 1; n <= events; n++) {
      producer.publish({ n });
      await producing.flush();
      await whenLater(20);
    }
  };
  const producing = rig.session();
  const first = await producing.channel("a", Count).produce({ history });
  await raise(producing, first, 3);
  const seen = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => seen.put(n), { from: 1, speed: 0.1 });
  await seen.take(1);
  const others = rig.session();
  for (const events of [1, 5]) {
    const producer = await others.channel("a", Count).produce({ history });
    await raise(others, producer, events);
  }
  await first.close();
  await expect.poll(() => consumer.status.replaying).toBe(false);
  await expect.poll(() => consumer.stats.missed + seen.all.length).toBe(9);
  expect(seen.all.slice(-3)).toEqual([3, 4, 5]);
  expect(consumer.stats.missed).toBeGreaterThan(2);
});

test("HIST-3: who comes late gets the newest event, or the newest of each value of the key", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const plain = await producing.channel("plain", Count).produce({ history: { events: 1 } });
  const keyed = await producing
    .channel("keyed", Reading)
    .produce({ history: { latest: true }, key: "station" });
  for (let n = 0; n < 10; n++) plain.publish({ n });
  for (let n = 0; n < 30; n++) keyed.publish({ station: `S${n % 3}`, value: n });
  await producing.flush();
  const late = rig.session();
  const newest = new Inbox<number>();
  await late.channel("plain", Count).subscribe(({ n }) => newest.put(n), { from: "last" });
  expect(await newest.take(1)).toEqual([9]);
  const readings = new Inbox<string>();
  await late
    .channel("keyed", Reading)
    .subscribe(({ station, value }) => readings.put(`${station} ${value}`), { from: "last" });
  expect(await readings.take(3)).toEqual(["S0 27", "S1 28", "S2 29"]);
  keyed.publish({ station: "S1", value: 100 });
  expect((await readings.take(4)).at(-1)).toBe("S1 100");
});

test("HIST-4: a replay from a time comes at the speed that was asked for, in order, and ends live", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce({ history: { seconds: 60 } });
  const began = new Date();
  const live = await numbersOf(rig, "a", Count);
  let firstAt = 0;
  let lastAt = 0;
  for (let n = 0; n < 20; n++) {
    lastAt = performance.now();
    producer.publish({ n });
    // Each event is a run of its own, some time behind the one before: that time is what the replay is about.
    await live.take(n + 1);
    if (n === 0) firstAt = performance.now();
    await whenLater(10);
  }
  const replayed = new Inbox<number>();
  const askedAt = performance.now();
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => replayed.put(n), { from: began, speed: 0.5 });
  await replayed.take(20);
  // Between the first and the last there was that much time at least. When they came in is known in whole milliseconds.
  expect(performance.now() - askedAt).toBeGreaterThanOrEqual(2 * (lastAt - firstAt - 1));
  await expect.poll(() => consumer.status.replaying).toBe(false);
  producer.publish({ n: 20 });
  expect(await replayed.take(21)).toEqual(numbers(0, 21));
});

test("DEL-4: events of a consumer's own process that wait for a past come, where that past ends with its gateway", async () => {
  const first = await createGateway();
  await using session = connect(first.address, { place, backoff: { firstMs: 20, mostMs: 100 } });
  const producer = await session.channel("a", Count).produce({ history: { events: 10 } });
  for (const n of [0, 1]) {
    producer.publish({ n });
    await session.flush();
    await whenLater(10);
  }
  const seen = new Inbox<number>();
  const missed: number[] = [];
  // Some ten milliseconds take hours.
  const consumer = await session.channel("a", Count).subscribe(({ n }) => seen.put(n), {
    from: 1,
    speed: 1e-6,
    onMissed: ({ events }) => missed.push(events),
  });
  await seen.take(1);
  producer.publish({ n: 2 });
  await session.flush();
  const port = Number(first.address.split(":")[1]);
  await first.close();
  await using _second = await createGateway({ port });
  expect(await seen.take(2)).toEqual([0, 2]);
  expect(missed).toEqual([1]);
  expect(consumer.status.replaying).toBeUndefined();
});

test("HIST-3: the newest event comes though the connection broke before it was there", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const Large = type("Large", { n: "uint32", payload: "uint8[]" });
  const producing = rig.session();
  const producer = await producing.channel("a", Large).produce({ history: { events: 10 } });
  for (let n = 1; n <= 3; n++) producer.publish({ n, payload: new Uint8Array(400_000) });
  await producing.flush();
  await using session = connect(way.address, { place, backoff: { firstMs: 20, mostMs: 100 } });
  await session.ready();
  way.slow(100_000);
  const seen = new Inbox<number>();
  const consumer = await session.channel("a", Large).subscribe(({ n }) => seen.put(n), { from: "last" });
  const broken = whenState(consumer, "reconnecting");
  way.cut();
  await broken;
  way.slow(Number.POSITIVE_INFINITY);
  expect(await seen.take(1)).toEqual([3]);
  expect(consumer.stats.missed).toBe(0);
});

test("HIST-4: while the past comes, the consumer's status says so", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce({ history: { events: 10 } });
  const live = new Inbox<number>();
  const channel = rig.session().channel("a", Count);
  await channel.subscribe(({ n }) => live.put(n));
  producer.publish({ n: 0 });
  await live.take(1);
  await whenLater(10);
  producer.publish({ n: 1 });
  await live.take(2);
  // Some ten milliseconds take hours.
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(() => {}, { from: 1, speed: 1e-6 });
  expect(consumer.status.replaying).toBe(true);
});

test.for(["arrives late", "is lost with its connection"])(
  "HIST-6: nothing since the time that was asked for is left out where the request %s",
  async how => {
    await using rig = await startRig();
    await using way = await startCutter(rig.gateway.address);
    const producing = rig.session();
    const producer = await producing.channel("a", Count).produce({ history: { seconds: 60 } });
    const consuming = connect(way.address, { place, backoff: { firstMs: 20, mostMs: 100 } });
    await consuming.ready();
    way.hold();
    const seen = new Inbox<number>();
    const subscribing = consuming.channel("a", Count).subscribe(({ n }) => seen.put(n), { from: new Date() });
    for (let n = 0; n < 10; n++) {
      producer.publish({ n });
      await producing.flush();
    }
    if (how !== "arrives late") way.cut();
    way.release();
    const consumer = await subscribing;
    expect(await seen.take(10)).toEqual(numbers(0, 10));
    expect(consumer.status.recovered).toBe(true);
    await consuming.close();
  },
);

test.for([-1, 1])(
  "HIST-6: a time is that of the consumer's clock where the gateway's is %s hours ahead",
  async hours => {
    const file = fileURLToPath(new URL("clocked-gateway.ts", import.meta.url));
    const gateway = fork(file, [String(hours * 3_600_000)]);
    const [address] = (await once(gateway, "message")) as [string];
    const session = connect(address, { place, name: "producing" });
    const producer = await session.channel("a", Count).produce({ history: { seconds: 600 } });
    for (let n = 0; n < 3; n++) producer.publish({ n });
    await session.flush();
    const seen = new Inbox<string>();
    const reading = connect(address, { place, name: "reading" });
    for (const minutes of [-1, 1]) {
      const from = new Date(Date.now() + minutes * 60_000);
      await reading.channel("a", Count).subscribe(({ n }) => seen.put(`${minutes}: ${n}`), { from });
    }
    expect(await seen.take(3)).toEqual(["-1: 0", "-1: 1", "-1: 2"]);
    producer.publish({ n: 3 });
    expect((await seen.take(5)).slice(3).toSorted()).toEqual(["-1: 3", "1: 3"]);
    await Promise.all([session.close(), reading.close()]);
    const ended = once(gateway, "exit");
    gateway.disconnect();
    await ended;
  },
);

test("HIST-5: history in a file survives the gateway: consumers resume over its restart without a gap", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    const first = await createGateway({ historyFile });
    const { port } = first;
    const quick = { backoff: { firstMs: 20, mostMs: 100 } };
    const producing = connect(first.address, { ...quick, name: "producing" });
    const producer = await producing.channel("a", Count).produce({ history: { events: 10_000 } });
    for (let n = 0; n < 100; n++) producer.publish({ n });
    await producing.flush();
    const consuming = connect(first.address, { ...quick, name: "consuming" });
    const seen = new Inbox<number>();
    const consumer = await consuming.channel("a", Count).subscribe(({ n }) => seen.put(n), { from: 1 });
    await seen.take(100);
    const again = whenState(consumer, "reconnecting").then(() => whenState(consumer, "live"));
    await first.close();
    for (let n = 100; n < 200; n++) producer.publish({ n });
    {
      await using second = await createGateway({ port, historyFile });
      await again;
      expect(consumer.status.recovered).toBe(true);
      expect(await seen.take(200)).toEqual(numbers(0, 200));
      expect(consumer.stats.missed).toBe(0);
      // One that never was here before reads what was sent through both gateways.
      const late = connect(second.address, { ...quick, name: "late" });
      const all = new Inbox<number>();
      await late.channel("a", Count).subscribe(({ n }) => all.put(n), { from: 1 });
      expect(await all.take(200)).toEqual(numbers(0, 200));
      await late.close();
    }
    await Promise.all([producing.close(), consuming.close()]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("HIST-3, HIST-5: a file keeps the newest event of each key, however old that is, and little besides", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    {
      await using gateway = await createGateway({ historyFile });
      const session = connect(gateway.address, { place: "here" });
      const producer = await session
        .channel("a", Reading)
        .produce({ history: { latest: true }, key: "station" });
      producer.publish({ station: "old", value: 1 });
      for (let n = 2; n <= 2000; n++) await producer.publishSync({ station: "new", value: n });
      await session.close();
    }
    const database = new DatabaseSync(historyFile);
    const rows = database.prepare("SELECT count(*) AS n FROM runs").get()?.n;
    database.close();
    expect(rows).toBeLessThanOrEqual(2 * 256);
    const lines: string[] = [];
    await using gateway = await createGateway({ historyFile, log: lineLog(line => lines.push(line)) });
    const session = connect(gateway.address, { place: "here" });
    const seen = new Inbox<string>();
    await session
      .channel("a", Reading)
      .subscribe(({ station, value }) => seen.put(`${station} ${value}`), { from: "last" });
    expect(await seen.take(2)).toEqual(["old 1", "new 2000"]);
    expect(lines).toEqual([]);
    await session.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.for([
  [{ from: -1 }, "from"],
  [{ from: 1.5 }, "from"],
  [{ from: new Date(Number.NaN) }, "from"],
  [{ speed: -1, from: 1 }, "speed"],
  [{ speed: Number.NaN, from: 1 }, "speed"],
] as const)("HIST-1: a beginning of %o is refused where it is asked for", async ([options, word]) => {
  await using rig = await startRig();
  const subscribing = rig
    .session()
    .channel("a", Count)
    .subscribe(() => {}, options);
  await expect(subscribing).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining(word),
  });
});
