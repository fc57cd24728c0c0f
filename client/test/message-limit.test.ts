import { connect, type JechoError, type Missed, modulatorFrom } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { MOST_CONTROL_BYTES } from "@jecho/shared/internal";
import { expect, inject, test } from "vitest";
import { EVEN, Inbox, moe, numbersOf, startRig, Tick, whenState } from "./rig.ts";

const limitBytes = 32 << 10;
const text = (characters: number): string => "x".repeat(characters);
const refusal = { code: "FRAME_TOO_LARGE", message: expect.stringContaining(`at most ${limitBytes}`) };

test("CON-7: a request that the gateway takes no message with is refused here, and the session goes on", async () => {
  await using rig = await startRig({ limitBytes });
  const states: string[] = [];
  const session = rig.session({ onError: () => {} });
  session.onStatus(({ state }) => states.push(state));
  const channel = session.channel("a", Tick);
  const parameters = { text: text(2 * limitBytes) };
  const modulator = modulatorFrom((_, moe) => moe.parameters.text !== "", { parameters });
  await expect(channel.subscribe(() => {}, { modulator })).rejects.toMatchObject(refusal);
  await expect(session.share({ text: text(limitBytes) }).ready()).rejects.toMatchObject(refusal);
  const got = new Inbox<number>();
  await channel.subscribe(({ n }) => got.put(n));
  const producer = await rig.session().channel("a", Tick).produce();
  await producer.publishSync({ n: 1, note: "" });
  expect(got.all).toEqual([1]);
  expect(states.filter(state => state !== "connecting")).toEqual(["live"]);
});

test("CON-7: a request of more than 4 MiB is refused here, whatever messages the gateway takes", async () => {
  await using rig = await startRig();
  const session = rig.session({ onError: () => {} });
  const parameters = { text: text(MOST_CONTROL_BYTES) };
  const modulator = modulatorFrom((_, moe) => moe.parameters.text !== "", { parameters });
  await expect(session.channel("a", Tick).subscribe(() => {}, { modulator })).rejects.toMatchObject({
    code: "FRAME_TOO_LARGE",
    message: expect.stringContaining(`at most ${MOST_CONTROL_BYTES}`),
  });
  expect(session.status.state).toBe("live");
});

test("CON-7: an event that the gateway takes no message with is refused here, and consumers know that they miss it", async () => {
  await using rig = await startRig({ limitBytes });
  const errors = new Inbox<JechoError>();
  const session = rig.session({ onError: errors.put });
  const producer = await session.channel("a", Tick).produce();
  const missed: Missed[] = [];
  const got = await numbersOf(rig, "a", Tick, { onMissed: it => missed.push(it) });
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 1, note: "" });
  producer.publish({ n: 2, note: text(limitBytes) });
  expect(await errors.take(1)).toEqual([expect.objectContaining(refusal)]);
  await expect(producer.publishSync({ n: 3, note: text(limitBytes) })).rejects.toMatchObject({
    code: "FRAME_TOO_LARGE",
  });
  producer.publish({ n: 4, note: "" });
  expect(await got.take(2)).toEqual([1, 4]);
  expect(missed).toMatchObject([{ events: 1 }, { events: 1 }]);
  expect(producer.stats.dropped).toBe(2);
  expect(session.status.state).toBe("live");
});

test("CON-7, DEL-2: the last event, too, that the gateway takes no message with is told, here and elsewhere, plain and modulated", async () => {
  await using rig = await startRig({ limitBytes });
  const session = rig.session({ onError: () => {} });
  const producer = await session.channel("a", Tick).produce();
  const sessions = [session, rig.session()];
  const opened = sessions.flatMap(one =>
    [{}, { modulator: EVEN }].map(pair => one.channel("a", Tick).subscribe(() => {}, pair)),
  );
  const consumers = await Promise.all(opened);
  await expect.poll(() => producer.demand.total).toBe(4);
  const told = (): number[][] => consumers.map(({ stats: { events, missed } }) => [events, missed]);
  producer.publish({ n: 2, note: "" });
  await expect.poll(told).toEqual(consumers.map(() => [1, 0]));
  producer.publish({ n: 4, note: text(limitBytes) });
  await expect.poll(told).toEqual(consumers.map(() => [1, 1]));
  producer.publishUrgent({ n: 6, note: "" });
  producer.publishUrgent({ n: 8, note: text(limitBytes) });
  await expect.poll(told).toEqual(consumers.map(() => [2, 2]));
});

test("CON-7, PROV-5: the last thing that a modulator makes is told as missing where the gateway takes no message with it", async () => {
  await using rig = await startRig({ limitBytes });
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce();
  const modulator = moe("enqueue(event) { super.enqueue({ ...event, note: event.note.repeat(event.n) }); }");
  const [here, elsewhere] = await Promise.all(
    [session, rig.session()].map(one => one.channel("a", Tick).subscribe(() => {}, { modulator })),
  );
  const told = (): unknown[] => [here, elsewhere].map(it => [it?.stats.events, it?.stats.missed]);
  await expect.poll(() => producer.demand.total).toBe(2);
  const note = text(100);
  producer.publish({ n: 1, note });
  await expect.poll(told).toEqual([
    [1, 0],
    [1, 0],
  ]);
  producer.publish({ n: limitBytes / 64, note });
  await expect.poll(told).toEqual([
    [2, 0],
    [1, 1],
  ]);
  // No consumer elsewhere is waited for that cannot have it.
  await expect(producer.publishSync({ n: limitBytes / 64, note })).resolves.toBe(1);
  await expect.poll(told).toEqual([
    [3, 0],
    [1, 2],
  ]);
  producer.publish({ n: 2, note });
  await expect.poll(told).toEqual([
    [4, 0],
    [2, 2],
  ]);
});

test("CON-7: what a modulator makes in one call goes in pieces where the gateway takes no message with all of it", async () => {
  await using rig = await startRig({ limitBytes });
  const producer = await rig.session().channel("a", Tick).produce();
  const modulator = moe(
    "enqueue(event) { for (let i = 0; i < event.n; i++) super.enqueue({ n: i, note: event.note }); }",
  );
  const missed: Missed[] = [];
  const got = await numbersOf(rig, "a", Tick, { modulator, onMissed: it => missed.push(it) });
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 100, note: text(1000) });
  producer.publish({ n: 1, note: "" });
  expect(await got.take(101)).toEqual([...Array(100).keys(), 0]);
  expect(missed).toEqual([]);
});

test("CON-7: what goes out together, or once more after a cut, goes as messages that the gateway takes", async () => {
  await using rig = await startRig({ limitBytes });
  await using way = await startCutter(rig.gateway.address);
  const session = connect(way.address, { backoff: { firstMs: 10, mostMs: 50 }, place: inject("place") });
  const producer = await session.channel("a", Tick).produce();
  const got = await numbersOf(rig, "a", Tick);
  await expect.poll(() => producer.demand.total).toBe(1);
  const label = text(1000);
  const opened = Array.from({ length: 100 }, (_, i) =>
    session.channel(`other/${i}`, Tick).subscribe(() => {}, { label }),
  );
  await Promise.all(opened);
  way.stall();
  for (let n = 0; n < 100; n++) producer.publish({ n, note: text(n % 10 === 9 ? limitBytes / 2 : 3000) });
  await got.take(100);
  const again = whenState(session, "reconnecting").then(() => whenState(session, "live"));
  way.cut();
  way.flow();
  await again;
  producer.publish({ n: 100, note: "" });
  expect(await got.take(101)).toEqual(Array.from({ length: 101 }, (_, n) => n));
  await session.close();
});
