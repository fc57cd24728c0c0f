import { connect, type Modulator, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, moe, numbersOf, startRig, Tick, whenState } from "./rig.ts";

/** Lets everything through, marked with its name. */
const marks = (name: string): Modulator => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { super.enqueue({ n: event.n, note: this.parameters }); }
}`,
  parameters: name,
});

/** Lets everything through, whatever its type. */
const PASSES = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.n > 0) super.enqueue(event); }
}`;

test("MOE-8: while events stream, the new pair's events follow the old one's, each producer's of each pair in order", async () => {
  await using rig = await startRig();
  const producers = await Promise.all([0, 1].map(() => rig.session().channel("a", Tick).produce()));
  const seen: { n: number; note: string }[] = [];
  const got = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(
      ({ n, note }) => {
        seen.push({ n, note });
        got.put(n);
      },
      { modulator: marks("old") },
    );
  let raised = 0;
  let isResetting = true;
  const stream = async (): Promise<void> => {
    while (isResetting) {
      for (const [i, producer] of producers.entries())
        await producer.publishWhenReady({ n: 2 * raised + i, note: "" });
      raised++;
      await new Promise(resolve => setImmediate(resolve));
    }
  };
  const streaming = stream();
  await got.take(10);
  await consumer.reset({ modulator: marks("new") });
  const before = seen.length;
  await got.take(before + 10);
  isResetting = false;
  await streaming;
  const first = seen.findIndex(({ note }) => note === "new");
  expect(first).toBeGreaterThan(0);
  expect(seen.slice(first).every(({ note }) => note === "new")).toBe(true);
  expect(seen.slice(0, first).every(({ note }) => note === "old")).toBe(true);
  // Nothing of the old pair came after `reset` had resolved.
  expect(first).toBeLessThanOrEqual(before);
  for (const pair of ["old", "new"]) {
    for (const i of [0, 1]) {
      const own = seen.filter(({ n, note }) => note === pair && n % 2 === i).map(({ n }) => n);
      expect(own).toEqual([...new Set(own)].toSorted((a, b) => a - b));
    }
  }
});

test("MOE-8, PROV-1: whatever modulator a consumer changes to, nothing is lost untold", async () => {
  await using rig = await startRig();
  const producers = await Promise.all([0, 1].map(() => rig.session().channel("a", Tick).produce()));
  const seen: number[][] = [[], []];
  const missed: number[] = [];
  const handle = ({ n }: { n: number }): void => void seen[n % 2]?.push(n);
  const onMissed = ({ events }: { events: number }): void => void missed.push(events);
  const consumer = await rig.session().channel("a", Tick).subscribe(handle, { onMissed });
  let raised = 0;
  let isResetting = true;
  const stream = async (): Promise<void> => {
    for (; isResetting; raised++)
      for (const [i, producer] of producers.entries()) {
        const event = { n: 2 * raised + i, note: "" };
        // As fast as the consumer handles them.
        if (raised % 16 === 0) await producer.publishSync(event);
        else producer.publish(event);
      }
  };
  const streaming = stream();
  // In the producer's own thread, where that is proven harmless; behind a wall; and none.
  const pass = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`;
  const kept = pass.replace(
    "{}",
    "{ #seen = new Set(); enqueue(event) { this.#seen.add(1); super.enqueue(event); } }",
  );
  const pairs = [pass, kept, pass, undefined, kept, kept, undefined].map(source => source && { source });
  for (let i = 0; i < 5 * pairs.length; i++) {
    const modulator = pairs[i % pairs.length];
    await consumer.reset(modulator ? { modulator: { ...modulator, key: `${i}` } } : {});
  }
  isResetting = false;
  await streaming;
  let lost = 0;
  for (const [i, own] of seen.entries()) {
    await expect.poll(() => own.at(-1)).toBe(2 * (raised - 1) + i);
    // An event that both modulators had been through may come of both.
    lost += raised - Math.floor((own[0] as number) / 2) - new Set(own).size;
  }
  expect(lost).toBeLessThanOrEqual(missed.reduce((sum, events) => sum + events, 0));
});

test.each([
  [true, 1],
  [false, 0],
])("MOE-8: a reset with sync = %s resolves with %s of the old pair's handlers ended", async (sync, ended) => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const began = new Inbox<number>();
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  let handled = 0;
  const handler = async ({ n }: { n: number }): Promise<void> => {
    began.put(n);
    await goesOn;
    handled++;
  };
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(handler, { modulator: marks("old") });
  producer.publish({ n: 1, note: "" });
  await began.take(1);
  const resetting = consumer.reset({ modulator: marks("new") }, { sync });
  if (sync) {
    // The new pair is in force, and yet the reset waits for the old one's handler.
    await expect.poll(() => producer.demand.derived.map(({ parameters }) => parameters)).toEqual(["new"]);
    goOn();
  }
  await resetting;
  expect(handled).toBe(ended);
  goOn();
});

test.for([
  ["an event", 2, []],
  ["a time", new Date(0), []],
  ["the newest event", "last", ["4 raw"]],
] as const)(
  "MOE-8: a consumer that began with %s goes on where it is after a reset",
  async ([, from, again]) => {
    await using rig = await startRig();
    const producing = rig.session();
    const history = { events: 100, latest: true };
    const producer = await producing.channel("a", Tick).produce({ history });
    for (const n of [1, 2, 3]) producer.publish({ n, note: "raw" });
    await producing.flush();
    const seen = new Inbox<string>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => seen.put(`${n} ${note}`), { from });
    await expect.poll(() => seen.all.at(-1)).toBe("3 raw");
    await consumer.reset({ modulator: marks("new") });
    expect(await producer.publishSync({ n: 4, note: "raw" })).toBe(1);
    const before = seen.all.length;
    expect(seen.all.at(-1)).toBe("4 new");
    await consumer.reset({});
    expect(await producer.publishSync({ n: 5, note: "raw" })).toBe(1);
    expect(seen.all.slice(before)).toEqual([...again, "5 raw"]);
  },
);

const BAD: Modulator = { source: "nonsense(" };

/** A consumer, and a function that raises an event and says what its modulator marked it with. */
async function marked() {
  const rig = await startRig();
  const way = await startCutter(rig.gateway.address);
  const session = connect(way.address, { place: inject("place"), backoff: { firstMs: 20, mostMs: 100 } });
  const producer = await rig.session().channel("a", Tick).produce();
  const seen = new Inbox<string>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ note }) => seen.put(note), { modulator: marks("old") });
  return {
    way,
    producer,
    consumer,
    mark: async () => {
      await expect.poll(() => producer.demand.total).toBe(1);
      producer.publish({ n: 1, note: "" });
      return (await seen.take(seen.all.length + 1)).at(-1);
    },
    async [Symbol.asyncDispose]() {
      await session.close();
      await way[Symbol.asyncDispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}

const settled = async (resets: readonly Promise<void>[]): Promise<string[]> =>
  (await Promise.allSettled(resets)).map(({ status }) => status);

test.for([
  ["good, bad", [marks("a"), BAD], ["fulfilled", "rejected"], "a"],
  ["bad, good", [BAD, marks("b")], ["rejected", "fulfilled"], "b"],
  ["bad, bad", [BAD, BAD], ["rejected", "rejected"], "old"],
  ["good, good, bad", [marks("a"), marks("b"), BAD], ["fulfilled", "fulfilled", "rejected"], "b"],
  ["good, bad, good", [marks("a"), BAD, marks("c")], ["fulfilled", "fulfilled", "fulfilled"], "c"],
] as const)(
  "MOE-8: of resets asked for at once (%s) each is answered, and the newest that can be is in force",
  async ([, modulators, outcomes, inForce]) => {
    await using the = await marked();
    const resets = modulators.map(modulator => the.consumer.reset({ modulator }));
    expect(await settled(resets)).toEqual(outcomes);
    expect(await the.mark()).toBe(inForce);
    // It is also what is asked for at the next connection.
    const away = whenState(the.consumer, "reconnecting");
    the.way.cut();
    await away;
    await whenState(the.consumer, "live");
    expect(await the.mark()).toBe(inForce);
  },
);

test("MOE-3: after each of many resets with other parameters, what is raised next comes through the newest", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const seen: string[] = [];
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ note }) => void seen.push(note), {
      modulator: marks("first"),
    });
  const names = Array.from({ length: 40 }, (_, i) => `${i}`);
  for (const [n, name] of names.entries()) {
    await consumer.reset({ modulator: marks(name) });
    // The producer's process answers as soon as it can; the host may not have made the new one yet.
    await producer.publishSync({ n, note: "" });
  }
  expect(seen).toEqual(names);
});

test("MOE-8: resets under way when the connection breaks are answered at the next one; the old pair goes on where they fail", async () => {
  await using the = await marked();
  const { consumer, way } = the;
  const away = whenState(consumer, "reconnecting");
  way.hold();
  const before = [consumer.reset({ modulator: marks("a") }), consumer.reset({ modulator: BAD })];
  way.part();
  await away;
  const meanwhile = [consumer.reset({ modulator: BAD })];
  way.release();
  way.join();
  expect(await settled([...before, ...meanwhile])).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(consumer.status.state).toBe("live");
  expect(await the.mark()).toBe("a");
});

test("MOE-8, DEL-4: a pair that is reset while its consumer is away gets what came meanwhile, and only then gives way", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Tick).produce({ history: { events: 100_000 } });
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, {
    place: inject("place"),
    name: "away",
    backoff: { firstMs: 20, mostMs: 100 },
  });
  const seen: string[] = [];
  const missed: number[] = [];
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n, note }) => void seen.push(`${n} ${note}`), {
      modulator: marks("old"),
      onMissed: ({ events }) => missed.push(events),
    });
  const away = whenState(consumer, "reconnecting");
  way.part();
  await away;
  const raised = 30_000;
  for (let n = 0; n < raised; n++) await producer.publishWhenReady({ n, note: "" });
  await producing.flush();
  const resetting = consumer.reset({ modulator: marks("new") });
  way.join();
  await resetting;
  await producer.publishSync({ n: raised, note: "" });
  expect(missed).toEqual([]);
  expect(seen).toEqual([...Array.from({ length: raised }, (_, n) => `${n} old`), `${raised} new`]);
});

test("MOE-8, DEL-7: a modulator that is changed for an equal one while the gateway is started again has its state", async () => {
  await using rig = await startRig();
  // This producer runs no modulators: their state is with the consumer.
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Tick).produce();
  const seen = new Inbox<number>();
  const told: (number | string)[] = [];
  const modulator = moe(`periodMs = 3_600_000;
  held = [];
  enqueue({ n, note }) { this.held.push({ n, note }); }
  period() { for (const event of this.held.splice(0)) super.enqueue(event); }`);
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), {
      modulator,
      onMissed: ({ events }) => told.push(events),
    });
  consumer.onRestart(({ code }) => told.push(code));
  for (let n = 0; n < 10; n++) producer.publish({ n, note: "" });
  await producing.flush();
  const away = whenState(consumer, "reconnecting");
  await rig.gateway.close();
  await rig.again();
  await away;
  await consumer.reset({ modulator });
  for (let n = 10; n < 20; n++) producer.publish({ n, note: "" });
  await producer.close();
  expect(await seen.take(20)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(told).toEqual([]);
});

test("MOE-8, PROV-1: a pair that is reset while its consumer is away leaves no events untold that the old one was not there for", async () => {
  await using rig = await startRig();
  const seen = new Inbox<number>();
  const missed: number[] = [];
  // This session comes back once the producer is there.
  const consuming = rig.session({ backoff: { firstMs: 3000, mostMs: 3000 } });
  const consumer = await consuming.channel("a", Tick).subscribe(({ n }) => seen.put(n), {
    modulator: marks("old"),
    onMissed: ({ events }) => missed.push(events),
  });
  const away = whenState(consumer, "reconnecting");
  await rig.gateway.close();
  await rig.again();
  await away;
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Tick).produce();
  for (let n = 0; n < 10; n++) producer.publish({ n, note: "" });
  await producing.flush();
  await consumer.reset({ modulator: marks("new") });
  for (let n = 10; n < 20; n++) producer.publish({ n, note: "" });
  await producer.close();
  const [first = 20] = await seen.take(1);
  await expect.poll(() => seen.all.at(-1)).toBe(19);
  // A busy machine may have it back before these are raised.
  expect(missed.reduce((sum, events) => sum + events, 0)).toBe(first);
});

test("MOE-8: a reset that waits for the old pair's handlers ends with the consumer", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const began = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(
      ({ n }) => {
        began.put(n);
        return new Promise(() => {});
      },
      { modulator: marks("old") },
    );
  producer.publish({ n: 1, note: "" });
  await began.take(1);
  const resetting = consumer.reset({ modulator: marks("new") }, { sync: true });
  await expect.poll(() => producer.demand.derived.map(({ parameters }) => parameters)).toEqual(["new"]);
  await consumer.close();
  await expect(resetting).rejects.toMatchObject({ code: "CLOSED" });
});

test.each(["with the producer", "elsewhere"])(
  "SYNC-3: a consumer %s that changes its pair while it is at an event is waited for, and the old modulator goes with that event",
  async where => {
    await using rig = await startRig();
    const session = rig.session();
    const producer = await session.channel("a", Tick).produce();
    const changed = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    const ended: string[] = [];
    const consumer = await (where === "elsewhere" ? rig.session() : session).channel("a", Tick).subscribe(
      async ({ note }) => {
        if (note === "old") {
          await consumer.reset({ modulator: marks("new") });
          changed.resolve();
          await goesOn.promise;
        }
        ended.push(note);
      },
      { modulator: marks("old") },
    );
    let result: number | undefined;
    const published = producer.publishSync({ n: 1, note: "" }, { timeoutMs: 60_000 }).then(count => {
      result = count;
    });
    await changed.promise;
    // One that is raised now is the new pair's, and what is still at the old one's event keeps nobody from it.
    expect(await producer.publishSync({ n: 2, note: "" }, { timeoutMs: 60_000 })).toBe(1);
    expect([result, ...ended]).toEqual([undefined, "new"]);
    goesOn.resolve();
    await published;
    expect([result, ...ended]).toEqual([1, "new", "old"]);
    await expect.poll(() => producer.demand.derived.map(({ parameters }) => parameters)).toEqual(["new"]);
  },
);

test.each([
  ["plain", undefined],
  ["modulated", marks("")],
])(
  "MOE-8: events that wait at the gateway come to a %s consumer that changes its demodulator",
  async (_, modulator) => {
    await using rig = await startRig();
    const [producing, consuming] = [rig.session(), rig.session()];
    const producer = await producing.channel("a", Tick).produce();
    const got = new Inbox<number>();
    const held = Promise.withResolvers<void>();
    const pair = modulator === undefined ? {} : { modulator };
    const handler = async ({ n }: { n: number }) => {
      got.put(n);
      await held.promise;
    };
    const consumer = await consuming.channel("a", Tick).subscribe(handler, { ...pair, inboxEvents: 1 });
    await expect.poll(() => producer.demand.total).toBe(1);
    producer.publish({ n: 1, note: "" });
    await got.take(1);
    // The gateway has heard by its answer that the consumer takes no more for now.
    await consuming.overview();
    for (let n = 2; n <= 50; n++) producer.publish({ n, note: "" });
    await producing.flush();
    await consumer.reset({ ...pair, demodulator: { push: (event, emit) => emit(event) } });
    held.resolve();
    for (let n = 51; n <= 60; n++) producer.publish({ n, note: "" });
    expect(await got.take(60)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(consumer.stats.missed).toBe(0);
  },
);

const Block = type("Block", { n: "uint32", payload: "uint8[]" });
const PAYLOAD = new Uint8Array(32 << 10);

test.each([
  ["none", undefined],
  ["a neighbour's", { source: PASSES, parameters: "neighbour" }],
])(
  "MOE-8: a consumer whose process does not keep up goes on with %s, and loses nothing",
  async (_, modulator) => {
    await using rig = await startRig();
    await using cutter = await startCutter(rig.gateway.address);
    await using slow = connect(cutter.address);
    const quick = await numbersOf(rig, "a", Block);
    const producer = await rig.session().channel("a", Block).produce();
    const next = modulator === undefined ? {} : { modulator };
    const queue = { limitBytes: 64 << 20 };
    const seen = new Set<number>();
    await slow.channel("a", Block).subscribe(() => {}, { ...next, queue });
    const consumer = await slow
      .channel("a", Block)
      .subscribe(({ n }) => void seen.add(n), { modulator: { source: PASSES }, queue });
    await expect.poll(() => producer.demand.total).toBe(3);
    let raised = 0;
    const raise = async (until: number): Promise<void> => {
      while (raised < until) {
        producer.publish({ n: ++raised, payload: PAYLOAD });
        if (raised % 10 === 0) await quick.take(raised);
      }
    };
    await raise(10);
    await expect.poll(() => seen.size).toBe(10);
    cutter.stall();
    // More than the connection holds.
    await raise(200);
    const reset = consumer.reset(next);
    cutter.flow();
    await reset;
    await raise(220);
    await expect.poll(() => seen.has(220)).toBe(true);
    expect([seen.size, consumer.stats.missed]).toEqual([220, 0]);
  },
);
