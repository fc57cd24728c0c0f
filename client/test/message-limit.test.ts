import { connect, type JechoError, type Missed, modulatorFrom } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { MOST_CONTROL_BYTES } from "@jecho/shared/internal";
import { expect, inject, test } from "vitest";
import { Inbox, numbersOf, startRig, Tick, whenState } from "./rig.ts";

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
  expect(missed).toMatchObject([{ events: 2 }]);
  expect(producer.stats.dropped).toBe(2);
  expect(session.status.state).toBe("live");
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
