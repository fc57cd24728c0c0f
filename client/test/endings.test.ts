import { connect, JechoError } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { numbersOf, startRig, Tick, whenState } from "./rig.ts";

const NOTE = "x".repeat(16 * 1024);
/** More than the queue and the connection hold of these. */
const MANY = 512;
const UNKNOWN = 1n;

const endings = ["is closed", "is handed over"] as const;

test.for(endings)("what was asked of a session that %s is answered: nothing waits for ever", async ending => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const session = connect(way.address, {
    place: inject("place"),
    queue: { whenFull: "block", bytes: 256 * 1024 },
  });
  const channel = session.channel("a", Tick);
  const elsewhere = rig.session();
  await elsewhere.channel("b", Tick).subscribe(() => {});
  const producer = await session.channel("b", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  const consumer = await channel.subscribe(() => {});
  const master = elsewhere.share({ n: 1 });
  await master.ready();
  const lazy = await session.attach<{ n: number }>(master.id, { policy: "lazy" });
  master.update({ n: 2 });
  await expect.poll(() => lazy.newestVersion).toBe(2);
  const { token } = await session.handover();

  // From here on the gateway hears nothing.
  way.hold();
  const fifo = { source: `export { FifoModulator as default } from "jecho:moe";` };
  const asked: Record<string, Promise<unknown>> = {
    "a synchronous event": producer.publishSync({ n: 1, note: "" }),
    "the first reset": consumer.reset({ modulator: fifo }),
    "the second reset": consumer.reset({}, { sync: true }),
    "a producer": channel.produce(),
    // A handover waits for these.
    ...(ending === "is closed" && {
      "a consumer": channel.subscribe(() => {}),
      "a copy": session.attach(master.id),
      "a master copy": session.share({ n: 1 }).ready(),
    }),
    "a pull": lazy.pull(),
    "a type": session.type(UNKNOWN),
    "a channel's types": channel.types(),
    "a handover": session.handover(),
    "a flush": session.flush(),
  };
  for (let n = 0; n < MANY; n++) asked[`event ${n}`] = producer.publishWhenReady({ n, note: NOTE });
  const codes = Promise.all(
    Object.entries(asked).map(([what, promise]) =>
      promise.then(
        () => [what, "done"],
        (error: unknown) => [what, JechoError.from(error).code],
      ),
    ),
  );
  if (ending === "is closed") void session.close();
  else {
    rig.session({ handover: token });
    await whenState(session, "refused");
  }
  const allowed = ["CLOSED", ...(ending === "is closed" ? [] : ["HANDED_OVER", "CONNECTION_LOST"])];
  for (const [what = "", code] of await codes) {
    // The first of these found room.
    if (!what.startsWith("event") || code !== "done") expect(allowed, what).toContain(code);
  }
  await expect(asked[`event ${MANY - 1}`]).rejects.toBeInstanceOf(JechoError);
  expect(consumer.status.state).toBe(ending === "is closed" ? "closed" : "refused");
  // What was raised may go out now; without that the session would be as long in ending as it may.
  way.release();
  await session.close();
});

test("what is asked of a session in the turn in which it is closed, or later, is answered", async () => {
  await using rig = await startRig();
  const session = rig.session();
  await session.ready();
  const asked: Promise<unknown>[] = [session.type(UNKNOWN), session.handover()];
  void session.close();
  asked.push(session.flush(), session.type(UNKNOWN), session.ready(), session.share({ n: 1 }).ready());
  for (const answer of await Promise.allSettled<unknown>(asked))
    expect(answer).toMatchObject({ status: "rejected", reason: { code: "CLOSED" } });
});

test("a producer that is closed waits for room no more, and those that wait behind it do", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const session = connect(way.address, {
    place: inject("place"),
    queue: { whenFull: "block", bytes: 256 * 1024 },
  });
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  const [one, two] = await Promise.all([0, 1].map(() => session.channel("a", Tick).produce()));
  await expect.poll(() => one?.demand.total).toBe(1);
  way.hold();
  for (let n = 1; n < MANY; n++) one?.publishWhenReady({ n, note: NOTE }).catch(() => {});
  const last = one?.publishWhenReady({ n: MANY, note: NOTE });
  const behind = two?.publishWhenReady({ n: 1, note: "" });
  const closing = one?.close();
  await expect(last).rejects.toMatchObject({ code: "CLOSED" });
  way.release();
  await closing;
  expect(await behind).toBeGreaterThan(0);
  await session.close();
});

test("what was raised before a session is closed goes out, however much is under way", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const seen = await numbersOf(rig, "a", Tick);
  const producer = await session.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  // More than may be under way without the gateway's word, all taken at the end of the turn where the place is this thread.
  for (let n = 0; n < 300; n++) producer.publish({ n, note: NOTE });
  await Promise.resolve();
  for (let n = 300; n < 350; n++) producer.publish({ n, note: NOTE });
  await session.close();
  expect(await seen.take(350)).toEqual(Array.from({ length: 350 }, (_, n) => n));
});

test.each(["producer", "consumer"])(
  "CHAN-2: a %s whose opening is aborted leaves nothing behind at the gateway",
  async kind => {
    await using rig = await startRig();
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { place: inject("place") });
    await session.ready();
    const channel = session.channel("a", Tick);
    const controller = new AbortController();
    way.hold();
    const { signal } = controller;
    const opening: Promise<unknown> =
      kind === "producer" ? channel.produce({ signal }) : channel.subscribe(() => {}, { signal });
    const outcome = expect(opening).rejects.toThrow("enough");
    // By the second answer the place has what was asked before.
    await session.flush();
    await session.flush();
    controller.abort(new Error("enough"));
    await outcome;
    way.release();
    // The gateway answers in order: by now it has been asked to open it.
    await session.channel("b").types();
    await expect.poll(() => rig.gateway.stats().channels).toBe(0);
  },
);

test("a signal that outlives what was opened with it holds none of it, and ends what is there", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...of: Parameters<typeof add>) => {
    listeners++;
    add(...of);
  };
  signal.removeEventListener = (...of: Parameters<typeof remove>) => {
    listeners--;
    remove(...of);
  };
  await session.ready(signal);
  const consumer = await session.channel("a", Tick).subscribe(() => {}, { signal });
  const producer = await session.channel("a", Tick).produce({ signal });
  const copy = await session.attach(session.share({ n: 1 }).id, { signal });
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue() { throw new Error("not today"); } }`;
  const failing = await session.channel("a", Tick).subscribe(() => {}, { modulator: { source }, signal });
  producer.publish({ n: 1, note: "" });
  await whenState(failing, "refused");
  for (const endpoint of [consumer, producer, copy]) await endpoint.close();
  expect(listeners).toBe(0);
  const open = await session.channel("a", Tick).subscribe(() => {}, { signal });
  controller.abort();
  expect(open.status.state).toBe("closed");
});
