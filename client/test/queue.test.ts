import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EventChannel, JechoError, Missed, Modulator, Producer } from "@jecho/client";
import { expect, inject, test } from "vitest";
import { Inbox, numbersOf, startRig, Tick } from "./rig.ts";

type TickProducer = Producer<typeof Tick.event>;

/** In the application's own thread a full queue is emptied there and then; beside it, a fast producer outruns the sender. */
const isBeside = inject("place") === "worker";
const SMALL = 1 << 14;
const NOTE = "x".repeat(200);
const NONE = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n < 0) super.enqueue(event); } }`;

async function isWanted(producer: TickProducer): Promise<void> {
  await expect.poll(() => producer.demand.total).toBe(1);
}

/** Publishes without a pause until the policy shows, or for so many events; returns how many were taken. */
function flood(producer: TickProducer, events: number): { taken: number; refused: JechoError | undefined } {
  for (let n = 1; n <= events; n++) {
    try {
      producer.publish({ n, note: NOTE });
    } catch (error) {
      return { taken: n - 1, refused: error as JechoError };
    }
  }
  return { taken: events, refused: undefined };
}

test("error: a full queue refuses the event with QUEUE_FULL, and every event that it took arrives", async () => {
  await using rig = await startRig();
  const inbox = await numbersOf(rig, "a", Tick);
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce({ queue: { bytes: SMALL } });
  await isWanted(producer);
  const { taken, refused } = flood(producer, isBeside ? 1_000_000 : 5000);
  expect(refused?.code).toBe(isBeside ? "QUEUE_FULL" : undefined);
  await session.flush();
  expect(producer.bufferedEvents).toBe(0);
  expect(await inbox.take(taken)).toEqual(Array.from({ length: taken }, (_, i) => i + 1));
  expect(producer.stats).toMatchObject({ events: taken, dropped: 0 });
});

test("ready: who raises only while there is room is never refused, and every event arrives in order", async () => {
  await using rig = await startRig();
  const events = 20_000;
  const inbox = await numbersOf(rig, "a", Tick, { queue: { whenFull: "block" } });
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ queue: { bytes: SMALL } });
  await isWanted(producer);
  let waits = 0;
  for (let n = 0; n < events; n++) {
    if (!producer.isReady) {
      waits++;
      await producer.ready();
    }
    producer.publish({ n, note: NOTE });
  }
  // Beside it, the sender may be as fast as the loop.
  if (!isBeside) expect(waits).toBeGreaterThan(0);
  expect(await inbox.take(events)).toEqual(Array.from({ length: events }, (_, n) => n));
});

test("drop-oldest: the newest events arrive in order, and what was dropped is counted exactly", async () => {
  await using rig = await startRig();
  // In one thread with the gateway, no more than a socket takes that nobody reads from meanwhile.
  const events = isBeside ? 20_000 : 10_000;
  let missed = 0;
  const onMissed = (of: Missed): void => {
    missed += of.events;
  };
  const inbox = await numbersOf(rig, "a", Tick, { onMissed });
  const session = rig.session();
  const queue = { bytes: SMALL, whenFull: "drop-oldest" } as const;
  const producer = await session.channel("a", Tick).produce({ queue });
  await isWanted(producer);
  expect(flood(producer, events)).toEqual({ taken: events, refused: undefined });
  await session.flush();
  const { dropped } = producer.stats;
  if (isBeside) expect(dropped).toBeGreaterThan(0);
  else expect(dropped).toBe(0);
  const received = await inbox.take(events - dropped);
  expect(received.at(-1)).toBe(events);
  expect(received).toEqual(received.toSorted((a, b) => a - b));
  await producer.publishSync({ n: 0, note: "" });
  expect(inbox.all).toHaveLength(events - dropped + 1);
  expect(missed).toBe(dropped);
});

test("CHAN-7, DEL-2, PROV-2: what is dropped of a producer that raises nothing more is told, also of its first events", async () => {
  await using rig = await startRig();
  const session = rig.session({ queue: { bytes: SMALL, whenFull: "drop-oldest" } });
  const reading = rig.session();
  const elsewhere = await account(reading.channel("quiet", Tick));
  const filtering = await account(reading.channel("quiet", Tick), { source: NONE });
  const here = await account(session.channel("quiet", Tick));
  await numbersOf(rig, "loud", Tick);
  const quiet = await session.channel("quiet", Tick).produce();
  const loud = await session.channel("loud", Tick).produce();
  await isWanted(loud);
  await expect.poll(() => quiet.demand.total).toBe(3);
  for (let [round, raised] = [0, 0]; round < 3; round++) {
    const before = quiet.stats.dropped;
    do {
      raised += flood(quiet, 20).taken;
      flood(loud, isBeside ? 20_000 : 1000);
      // The sender may have been as fast.
    } while (isBeside && quiet.stats.dropped === before);
    await session.flush();
    const { dropped } = quiet.stats;
    await expect.poll(() => [elsewhere(), here(), filtering()]).toEqual([raised, raised, dropped]);
  }
});

/** Subscribes. @returns how many raised events were handled, or told to be missing */
async function account(
  channel: EventChannel<typeof Tick.event>,
  modulator?: Modulator,
): Promise<() => number> {
  let events = 0;
  await channel.subscribe(() => events++, {
    ...(modulator && { modulator }),
    onMissed: missed => {
      events += missed.events;
    },
  });
  return () => events;
}

test("drop-oldest: a synchronous event that is dropped fails with QUEUE_FULL", async () => {
  await using rig = await startRig();
  const session = rig.session();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  const queue = { bytes: SMALL, whenFull: "drop-oldest" } as const;
  const producer = await session.channel("a", Tick).produce({ queue });
  await isWanted(producer);
  const codes = new Map<string, number>();
  const published: Promise<void>[] = [];
  for (let n = 0; n < 500; n++) {
    const done = producer.publishSync({ n, note: NOTE }, { timeoutMs: 60_000 }).then(
      () => "handled",
      (error: JechoError) => error.code,
    );
    published.push(done.then(code => void codes.set(code, (codes.get(code) ?? 0) + 1)));
  }
  await Promise.all(published);
  const { dropped } = producer.stats;
  expect(codes.get("QUEUE_FULL") ?? 0).toBe(dropped);
  expect(codes.get("handled")).toBe(500 - dropped);
});

test("block: those that wait for room come in the order in which they asked, and nothing is lost", async () => {
  await using rig = await startRig();
  const events = 2000;
  const inbox = await numbersOf(rig, "a", Tick);
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ queue: { bytes: SMALL, whenFull: "block" } });
  await isWanted(producer);
  const published = Array.from({ length: events }, (_, n) =>
    n % 100 === 99 ? producer.publishSync({ n, note: NOTE }) : producer.publishWhenReady({ n, note: NOTE }),
  );
  if (isBeside) {
    // Who cannot wait does not overtake those who do.
    expect(() => producer.publish({ n: 0, note: "" })).toThrowError(
      expect.objectContaining({ code: "QUEUE_FULL" }),
    );
  }
  await Promise.all(published);
  expect(await inbox.take(events)).toEqual(Array.from({ length: events }, (_, n) => n));
});

test("block: who waits leaves with its signal, or with the producer", async () => {
  await using rig = await startRig();
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ queue: { bytes: SMALL, whenFull: "block" } });
  const reason = new Error("enough");
  await expect(
    producer.publishWhenReady({ n: 1, note: "" }, { signal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
  await producer.close();
  await expect(producer.publishWhenReady({ n: 1, note: "" })).rejects.toMatchObject({ code: "CLOSED" });
});

test("a producer's own queue neither fills nor empties the others'", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const [calm, wild] = [new Inbox<number>(), new Inbox<number>()];
  await rig
    .session()
    .channel("calm", Tick)
    .subscribe(({ n }) => calm.put(n));
  await rig
    .session()
    .channel("wild", Tick)
    .subscribe(({ n }) => wild.put(n));
  const own = await session
    .channel("wild", Tick)
    .produce({ queue: { bytes: SMALL, whenFull: "drop-oldest" } });
  const common = await session.channel("calm", Tick).produce();
  await isWanted(own);
  await isWanted(common);
  for (let n = 0; n < 20; n++) {
    flood(own, 1000);
    common.publish({ n, note: "" });
  }
  expect(await calm.take(20)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  await session.flush();
  expect((await wild.take(20_000 - own.stats.dropped)).at(-1)).toBe(1000);
  expect(common.stats.dropped).toBe(0);
});

test("batchDelayMs: events wait for others, but not longer than that, nor for what is urgent", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n));
  const session = rig.session({ queue: { batchDelayMs: 300_000 } });
  const producer = await session.channel("a", Tick).produce();
  await isWanted(producer);
  for (let n = 0; n < 100; n++) {
    producer.publish({ n, note: "" });
    await new Promise(resolve => setImmediate(resolve));
  }
  expect(producer.bufferedEvents).toBe(100);
  expect(consumer.stats.events).toBe(0);
  // A synchronous event does not wait, and what was raised before goes before it.
  await producer.publishSync({ n: 100, note: "" });
  expect(inbox.all).toEqual(Array.from({ length: 101 }, (_, n) => n));
  producer.publish({ n: 101, note: "" });
  await session.flush();
  expect((await inbox.take(102)).at(-1)).toBe(101);
  const prompt = await rig
    .session({ queue: { batchDelayMs: 1 } })
    .channel("a", Tick)
    .produce();
  await isWanted(prompt);
  prompt.publish({ n: 102, note: "" });
  expect((await inbox.take(103)).at(-1)).toBe(102);
});

test("a handler may publish while its event is being raised, and gets it once", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const inbox = new Inbox<number>();
  const echoes = new Inbox<number>();
  const echo = await session.channel("echo", Tick).produce();
  await session.channel("echo", Tick).subscribe(({ n }) => echoes.put(n));
  await session.channel("a", Tick).subscribe(({ n, note }) => {
    inbox.put(n);
    echo.publish({ n, note });
  });
  const producer = await session.channel("a", Tick).produce();
  await isWanted(producer);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(1);
  for (let n = 2; n <= 200; n++) producer.publish({ n, note: NOTE });
  const all = Array.from({ length: 200 }, (_, i) => i + 1);
  expect(await echoes.take(200)).toEqual(all);
  expect(inbox.all).toEqual(all);
});

test("a queue's size is a power of two", async () => {
  await using rig = await startRig();
  await expect(
    rig
      .session()
      .channel("a", Tick)
      .produce({ queue: { bytes: 1000 } }),
  ).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
});

test.runIf(isBeside)(
  "a producer that computes without yielding keeps its connection, and its events go out meanwhile",
  async () => {
    await using rig = await startRig({ heartbeatMs: 1000 });
    const inbox = await numbersOf(rig, "busy", Tick);
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    const enough = join(folder, "enough");
    const program = fileURLToPath(new URL("busy-producer.ts", import.meta.url));
    const child = fork(program, [rig.gateway.address, enough]);
    try {
      const done = once(child, "message");
      // Twice as long as the gateway's patience with who is silent; and the loop goes on that raises them.
      await inbox.take(120);
      await writeFile(enough, "");
      const [{ events, states }] = (await done) as [{ events: number; states: string[] }];
      expect(states).toEqual(["live"]);
      expect(await inbox.take(events)).toEqual(Array.from({ length: events }, (_, n) => n));
    } finally {
      child.kill();
      await rm(folder, { recursive: true });
    }
  },
);

test("batch: what is raised in it goes out together, and returns what it returns", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n));
  const producer = await rig.session().channel("a", Tick).produce();
  await isWanted(producer);
  for (let n = 1; n <= 3; n++) await producer.publishSync({ n, note: "" });
  const apart = consumer.stats.bytes;
  const handled = producer.batch(() => {
    producer.publish({ n: 4, note: "" });
    // Long enough for a reader that was woken to have taken it.
    const until = performance.now() + 50;
    while (performance.now() < until);
    producer.publish({ n: 5, note: "" });
    return producer.batch(() => producer.publishSync({ n: 6, note: "" }));
  });
  expect(await handled).toBe(1);
  expect(await inbox.take(6)).toEqual([1, 2, 3, 4, 5, 6]);
  // Two frames, of two events and the synchronous one, instead of three.
  expect(consumer.stats.bytes - apart).toBeLessThan(apart);
});

test("batch: more than the queue holds goes out in between", async () => {
  await using rig = await startRig();
  const inbox = await numbersOf(rig, "a", Tick);
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ queue: { bytes: SMALL } });
  await isWanted(producer);
  producer.batch(() => {
    for (let n = 1; n <= 10; n++) {
      producer.publish({ n, note: "x".repeat(SMALL / 8) });
      // Another thread takes them out meanwhile, as soon as that has a processor; the own one when there is no room.
      const until = performance.now() + 10_000;
      while (isBeside && !producer.isReady && performance.now() < until);
    }
  });
  expect(await inbox.take(10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a producer is closed while another one's events wait for requests that were made before them", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const inbox = new Inbox<number>();
  const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  const producer = await session.channel("a", Tick).produce();
  await isWanted(producer);
  const rounds = 50;
  for (let n = 1; n <= rounds; n++) {
    const other = await session.channel(`b${n}`, Tick).produce();
    void other.close();
    // Where memory is shared, the event is there before these are.
    for (let i = 0; i < 5; i++) consumer.relabel(`${n}.${i}`);
    producer.publish({ n, note: NOTE });
    await session.flush();
  }
  expect(await inbox.take(rounds)).toEqual(Array.from({ length: rounds }, (_, i) => i + 1));
});
