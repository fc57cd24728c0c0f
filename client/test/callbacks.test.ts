import type { JechoError } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick, whenState } from "./rig.ts";

type Event = typeof Tick.event;

/** Each event makes two results. */
const TWICE = {
  push(event: unknown, emit: (result: unknown) => void): void {
    emit(event);
    emit(event);
  },
};

/** What is thrown outside of all calls while this is in use, where it would end the process. */
function catchUncaught(): { readonly thrown: Inbox<unknown>; [Symbol.dispose](): void } {
  const thrown = new Inbox<unknown>();
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", thrown.put);
  return {
    thrown,
    [Symbol.dispose]() {
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    },
  };
}

test("an onError that throws is the application's to see: its connection, and what else came with the event, go on", async () => {
  await using rig = await startRig();
  using uncaught = catchUncaught();
  const session = rig.session();
  const failing = (): never => {
    throw new Error("handled badly");
  };
  const onError = (error: JechoError): never => {
    throw error;
  };
  const states: string[] = [];
  session.onStatus(({ state }) => states.push(state));
  await session.channel("a", Tick).subscribe(failing, { onError });
  await session.channel("a", Tick).subscribe(() => Promise.reject(new Error("handled badly")), { onError });
  const seen = new Inbox<number>();
  await session.channel("a", Tick).subscribe(({ n }) => seen.put(n));
  const producer = await rig.session().channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(3);
  producer.batch(() => {
    for (const n of [1, 2]) producer.publish({ n, note: "" });
  });
  expect(await seen.take(2)).toEqual([1, 2]);
  const messages = (await uncaught.thrown.take(4)).map(error => (error as Error).message);
  expect(messages).toEqual(Array(4).fill("handled badly"));
  await expect(producer.publishSync({ n: 3, note: "" })).rejects.toMatchObject({ code: "HANDLER_FAILED" });
  await uncaught.thrown.take(6);
  expect(states).not.toContain("refused");
  expect(states).not.toContain("reconnecting");
});

test("a handler that fails at one of a demodulator's results is given the others, and each failure is handled", async () => {
  await using rig = await startRig();
  const errors = new Inbox<JechoError>();
  const rejected = Promise.withResolvers<void>();
  let results = 0;
  const handler = (): Promise<void> => {
    if (++results % 2 === 0) throw new Error("the second");
    return rejected.promise;
  };
  await rig.session().channel("a", Tick).subscribe(handler, { demodulator: TWICE, onError: errors.put });
  const producer = await rig.session().channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  const published = producer.publishSync({ n: 1, note: "" });
  await expect.poll(() => results).toBe(2);
  // Nobody but the consumer waits for this: unhandled, it would end the process.
  rejected.reject(new Error("the first"));
  // The first reason is that of the first result, and each of them is told.
  await expect(published).rejects.toMatchObject({
    code: "HANDLER_FAILED",
    message: expect.stringContaining("the first"),
  });
  expect(errors.all).toMatchObject([{ message: "the first" }, { message: "the second" }]);
});

test.each([
  [
    "a promise",
    async (event: unknown, emit: (result: unknown) => void) => {
      await null;
      emit(event);
    },
    "promise",
  ],
  [
    "a throw behind its results",
    (event: unknown, emit: (result: unknown) => void) => {
      emit(event);
      throw new Error("in the middle");
    },
    "in the middle",
  ],
])(
  "a demodulator that ends with %s is told to onError; what it made before counts",
  async (what, push, message) => {
    await using rig = await startRig();
    const errors = new Inbox<JechoError>();
    const seen: number[] = [];
    const options = { demodulator: { push }, onError: errors.put };
    await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => seen.push(n), options);
    const producer = await rig.session().channel("a", Tick).produce();
    await expect.poll(() => producer.demand.total).toBe(1);
    await expect(producer.publishSync({ n: 1, note: "" })).rejects.toMatchObject({ code: "HANDLER_FAILED" });
    expect(errors.all).toMatchObject([
      { code: "DEMODULATOR_FAILED", message: expect.stringContaining(message) },
    ]);
    expect(seen).toEqual(what === "a promise" ? [] : [1]);
  },
);

test("a demodulator that emits when it has returned is told so where it does", async () => {
  await using rig = await startRig();
  const kept: ((result: unknown) => void)[] = [];
  const demodulator = { push: (_: unknown, emit: (result: unknown) => void) => kept.push(emit) };
  const seen: number[] = [];
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => seen.push(n), { demodulator });
  const producer = await rig.session().channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(1);
  expect(() => kept[0]?.({ n: 1 })).toThrow(expect.objectContaining({ code: "DEMODULATOR_FAILED" }));
  expect(seen).toEqual([]);
});

test("a handler that throws at a demodulator's first result is given the second", async () => {
  await using rig = await startRig();
  const errors = new Inbox<JechoError>();
  const seen = new Inbox<number>();
  const handler = ({ n }: Event): void => {
    seen.put(n);
    if (seen.all.length === 1) throw new Error("the first");
  };
  await rig.session().channel("a", Tick).subscribe(handler, { demodulator: TWICE, onError: errors.put });
  const producer = await rig.session().channel("a", Tick).produce();
  producer.publish({ n: 1, note: "" });
  expect(await seen.take(2)).toEqual([1, 1]);
  expect(errors.all).toMatchObject([{ message: "the first" }]);
});

test("a consumer that closes at a demodulator's first result is not given the second", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const seen = new Inbox<number>();
  const consumer = await session.channel("a", Tick).subscribe(
    ({ n }) => {
      seen.put(n);
      void consumer.close();
    },
    { demodulator: TWICE },
  );
  const others = new Inbox<number>();
  await session.channel("a", Tick).subscribe(({ n }) => others.put(n));
  const producer = await rig.session().channel("a", Tick).produce();
  producer.publish({ n: 1, note: "" });
  await whenState(consumer, "closed");
  await others.take(1);
  expect(seen.all).toEqual([1]);
});

test("a handler may use its consumer from its first event on, and what came with the word that it is open comes in order", async () => {
  await using rig = await startRig();
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  for (let n = 0; n < 100; n++) producer.publish({ n, note: "" });
  await producer.publishSync({ n: 100, note: "" });
  const channel = rig.session().channel("a", Tick);
  const seen = new Inbox<number>();
  const states: string[] = [];
  const consumer = await channel.subscribe(
    ({ n }) => {
      states.push(consumer.status.state);
      seen.put(n);
      if (n === 50) void consumer.close();
    },
    { from: 1 },
  );
  expect(seen.all).toEqual([]);
  await expect.poll(() => consumer.status.state).toBe("closed");
  expect(seen.all).toEqual(Array.from({ length: 51 }, (_, n) => n));
  expect(new Set(states)).toEqual(new Set(["live"]));
});
