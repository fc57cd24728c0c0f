import { connect, type Modulator } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { EVEN, Inbox, numbersOf, startRig, Tick, whenState } from "./rig.ts";

/** A promise that the test fulfils when it wants. */
function gate(): { readonly passed: Promise<void>; open(): void; fail(error: Error): void } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve, fail: reject };
}

test("SYNC-1: with nobody there it resolves at once with 0", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(0);
});

test("SYNC-1: it resolves when every consumer has handled the event, promises included, here and elsewhere", async () => {
  await using rig = await startRig();
  const here = rig.session();
  const producer = await here.channel("a", Tick).produce();
  const gates = [gate(), gate(), gate()];
  const started = new Inbox<number>();
  const sessions = [here, rig.session(), rig.session()];
  for (const [i, session] of sessions.entries()) {
    await session.channel("a", Tick).subscribe(() => {
      started.put(i);
      return gates[i]?.passed;
    });
  }
  await expect.poll(() => producer.demand.total).toBe(3);
  let result: number | undefined;
  const published = producer.publishSync({ n: 1, note: "" }).then(count => {
    result = count;
  });
  await started.take(3);
  for (const { open } of gates) {
    expect(result).toBeUndefined();
    open();
  }
  await published;
  expect(result).toBe(3);
});

test("SYNC-1: two consumers of one process are both waited for", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const session = rig.session();
  for (let i = 0; i < 2; i++) await session.channel("a", Tick).subscribe(() => {});
  await expect.poll(() => producer.demand.total).toBe(2);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(2);
});

test("SYNC-2: a handler that fails is told with the number of those that failed, and the others handle the event", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const fail = (): never => {
    throw new Error("no thanks");
  };
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(fail, { onError: () => {} });
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => Promise.reject(new Error("no thanks")), { onError: () => {} });
  const handled = await numbersOf(rig, "a", Tick);
  await expect.poll(() => producer.demand.total).toBe(3);
  await expect(producer.publishSync({ n: 7, note: "" })).rejects.toMatchObject({
    code: "HANDLER_FAILED",
    message: "2 of 3 handlers failed: no thanks",
  });
  expect(handled.all).toEqual([7]);
});

test("SYNC-3: a consumer that goes is not waited for any more", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const started = new Inbox<number>();
  const never = gate();
  const leaving = rig.session();
  const dying = rig.session();
  const handler = ({ n }: typeof Tick.event): Promise<void> => {
    started.put(n);
    return never.passed;
  };
  const consumer = await leaving.channel("a", Tick).subscribe(handler);
  await dying.channel("a", Tick).subscribe(handler);
  await expect.poll(() => producer.demand.total).toBe(2);
  const published = producer.publishSync({ n: 1, note: "" });
  await started.take(2);
  await consumer.close();
  await dying.close();
  expect(await published).toBe(0);
});

test("SYNC-3: nor is one that goes while the event is on its way to it", async () => {
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  await using producing = connect(cutter.address, {
    place: inject("place"),
    // In its own thread a modulator has made what it makes before the next event is sent.
    modulators: { trusted: [EVEN.source] },
  });
  const producer = await producing.channel("a", Tick).produce();
  const seen = await numbersOf(rig, "a", Tick);
  const leaving = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: EVEN });
  await expect.poll(() => producer.demand.total).toBe(2);
  // The producer does not hear that the derived channel is gone.
  cutter.stall();
  await leaving.close();
  await expect.poll(() => rig.gateway.stats().derivedChannels).toBe(0);
  const published = producer.publishSync({ n: 2, note: "" });
  producer.publish({ n: 4, note: "" });
  await seen.take(2);
  cutter.flow();
  expect(await published).toBe(1);
});

test("SYNC-4: it gives up after its time, on its signal, and when the connection breaks", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const never = gate();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => never.passed);
  await expect.poll(() => producer.demand.total).toBe(1);
  await expect(producer.publishSync({ n: 1, note: "" }, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "TIMED_OUT",
  });
  const controller = new AbortController();
  const aborted = producer.publishSync({ n: 2, note: "" }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  const broken = producer.publishSync({ n: 3, note: "" });
  const outcome = expect(broken).rejects.toMatchObject({
    code: "CONNECTION_LOST",
    message: expect.stringContaining(rig.gateway.address),
  });
  await rig.gateway.close();
  await outcome;
  await expect(producer.publishSync({ n: 4, note: "" })).rejects.toMatchObject({
    code: "CONNECTION_LOST",
    message: expect.stringContaining(rig.gateway.address),
  });
  // A session that closes waits for a gateway to take what was raised.
  await rig.again();
});

test("a synchronous event that waits for room without a connection says to which gateway there is none", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce({ queue: { bytes: 1 << 16, whenFull: "block" } });
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  await expect.poll(() => producer.demand.total).toBe(1);
  await rig.gateway.close();
  await whenState(session, "reconnecting");
  for (let n = 0; n < 100; n++) producer.publishWhenReady({ n, note: "x".repeat(1000) }).catch(() => {});
  await expect(producer.publishSync({ n: 1, note: "" }, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "TIMED_OUT",
    message: expect.stringContaining(`there is no connection to the gateway at ${rig.gateway.address}`),
  });
  await rig.again();
});

test("SYNC-7: each of several events under way is given up after its own time", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const last = gate();
  const seen = new Inbox<number>();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => {
      seen.put(n);
      return n === 2 ? undefined : last.passed;
    });
  await expect.poll(() => producer.demand.total).toBe(1);
  const publish = (n: number, timeoutMs: number): Promise<number> =>
    producer.publishSync({ n, note: "" }, { timeoutMs });
  const patient = publish(1, 60_000);
  const forever = publish(1, Number.POSITIVE_INFINITY);
  expect(await publish(2, 60_000)).toBe(1);
  const [first, second] = [publish(3, 100), publish(4, 20)];
  const refused = { code: "TIMED_OUT" };
  await Promise.all([
    expect(first).rejects.toMatchObject(refused),
    expect(second).rejects.toMatchObject(refused),
  ]);
  await seen.take(5);
  last.open();
  expect(await Promise.all([patient, forever])).toEqual([1, 1]);
});

test("SYNC-1: handlers that end together, each with an event of its own: nothing overtakes, and all are acknowledged", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const stage = rig.session();
  const answers = await stage.channel("b", Tick).produce();
  const seen = await numbersOf(rig, "b", Tick);
  const together = gate();
  await stage.channel("a", Tick).subscribe(async ({ n }) => {
    await together.passed;
    answers.publish({ n, note: "" });
  });
  await expect.poll(() => [producer.demand.total, answers.demand.total]).toEqual([1, 1]);
  const published = Array.from({ length: 10 }, (_, n) => producer.publishSync({ n, note: "" }));
  together.open();
  expect(await Promise.all(published)).toEqual(published.map(() => 1));
  expect(await seen.take(10)).toEqual(published.map((_, n) => n));
});

test("CHAN-4: synchronous and asynchronous events of a producer keep their order, with any number under way", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const seen = await numbersOf(rig, "a", Tick);
  await expect.poll(() => producer.demand.total).toBe(1);
  const waits: Promise<number>[] = [];
  for (let n = 0; n < 1000; n++) {
    if (n % 3 === 0) waits.push(producer.publishSync({ n, note: "" }));
    else producer.publish({ n, note: "" });
  }
  expect(new Set(await Promise.all(waits))).toEqual(new Set([1]));
  expect(await seen.take(1000)).toEqual(Array.from({ length: 1000 }, (_, n) => n));
});

test("SYNC-5: consumers of derived channels are waited for, and what a modulator discards is handled", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const seen = new Inbox<number>();
  const slow = gate();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(
      ({ n }) => {
        seen.put(n);
        return n === 4 ? slow.passed : undefined;
      },
      { modulator: EVEN },
    );
  expect(await producer.publishSync({ n: 2, note: "" })).toBe(1);
  expect(await producer.publishSync({ n: 3, note: "" })).toBe(0);
  let result: number | undefined;
  const waiting = producer.publishSync({ n: 4, note: "" }).then(count => {
    result = count;
  });
  await seen.take(2);
  expect(result).toBeUndefined();
  slow.open();
  await waiting;
  expect(result).toBe(1);
  expect(seen.all).toEqual([2, 4]);
});

const TRIPLE: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class Triple extends FifoModulator {
  enqueue(event) { for (let i = 0; i < 3; i++) super.enqueue(event); }
}`,
};

test.each(["with the producer", "elsewhere"])(
  "SYNC-3: a consumer %s that closes at the first of several derived events is not waited for",
  async where => {
    await using rig = await startRig();
    const session = rig.session();
    const producer = await session.channel("a", Tick).produce();
    const channel = (where === "elsewhere" ? rig.session() : session).channel("a", Tick);
    const seen = new Inbox<number>();
    const leaving = await channel.subscribe(
      ({ n }) => {
        seen.put(n);
        void leaving.close();
      },
      { modulator: TRIPLE },
    );
    const staying = new Inbox<number>();
    await channel.subscribe(({ n }) => staying.put(n), { modulator: TRIPLE });
    await expect.poll(() => producer.demand.total).toBe(2);
    expect(await producer.publishSync({ n: 1, note: "" }, { timeoutMs: 60_000 })).toBe(3);
    expect(seen.all).toEqual([1]);
    expect(staying.all).toEqual([1, 1, 1]);
  },
);

test.each(["with the producer", "elsewhere"])(
  "SYNC-3: a consumer %s that closes while it is at an event is not waited for; one beside it is",
  async where => {
    await using rig = await startRig();
    const session = rig.session();
    const producer = await session.channel("a", Tick).produce();
    const channel = (where === "elsewhere" ? rig.session() : session).channel("a", Tick);
    const started = new Inbox<number>();
    const gates = [gate(), gate()];
    const consumers = [];
    for (const { passed } of gates)
      consumers.push(
        await channel.subscribe(({ n }) => {
          started.put(n);
          return passed;
        }),
      );
    await expect.poll(() => producer.demand.total).toBe(2);
    let result: number | undefined;
    const published = producer.publishSync({ n: 1, note: "" }, { timeoutMs: 60_000 }).then(count => {
      result = count;
    });
    await started.take(2);
    await consumers[0]?.close();
    expect(result).toBeUndefined();
    gates[1]?.open();
    await published;
    expect(result).toBe(1);
  },
);

test.each(["a second consumer comes", "its consumer changes its demodulator"])(
  "SYNC-1: a synchronous event that waits at the gateway while %s is acknowledged by the one that handled it",
  async what => {
    await using rig = await startRig();
    const [producing, consuming] = [rig.session(), rig.session()];
    const producer = await producing.channel("a", Tick).produce();
    const channel = consuming.channel("a", Tick);
    const held = Promise.withResolvers<void>();
    const got = new Inbox<number>();
    const handler = async ({ n }: { n: number }) => {
      got.put(n);
      await held.promise;
    };
    const consumer = await channel.subscribe(handler, { inboxEvents: 1 });
    await expect.poll(() => producer.demand.total).toBe(1);
    producer.publish({ n: 1, note: "" });
    await got.take(1);
    // The gateway has heard by its answer that the consumer takes no more for now.
    await consuming.overview();
    const handled = producer.publishSync({ n: 2, note: "" }, { timeoutMs: 60_000 });
    await producing.flush();
    if (what === "a second consumer comes") await channel.subscribe(() => {});
    else await consumer.reset({ demodulator: { push: (event, emit) => emit(event) } });
    held.resolve();
    expect(await handled).toBe(1);
  },
);
