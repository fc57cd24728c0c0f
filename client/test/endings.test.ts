import { connect, JechoError } from "@jecho/client";
import { expect, inject, test } from "vitest";
import { startCutter } from "./cutter.ts";
import { startRig, Tick, whenState } from "./rig.ts";

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
    "a consumer": channel.subscribe(() => {}),
    "a producer": channel.produce(),
    "a copy": session.attach(master.id),
    "a master copy": session.share({ n: 1 }).ready(),
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
  await one?.close();
  await expect(last).rejects.toMatchObject({ code: "CLOSED" });
  way.release();
  expect(await behind).toBeGreaterThan(0);
  await session.close();
});
