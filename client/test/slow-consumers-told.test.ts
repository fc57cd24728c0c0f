import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type EventPlace, type Producer, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, onTestFinished, test } from "vitest";
import { Inbox, moe, numbersOf, startRig, whenState } from "./rig.ts";

const Block = type("Block", { n: "uint32", key: "uint32", payload: "uint8[]" });
type Fill = typeof Block.event;
const PAYLOAD = new Uint8Array(32 * 1024);
/** Several messages to a consumer. */
const LIMIT_BYTES = 1 << 20;
/** Lets all events through. */
const { source: ALL } = moe("enqueue(event) { if (event.n > 0) super.enqueue(event); }");

const SLOW = [
  ["a plain one", "a", {}],
  ["one with a modulator", "a", { modulator: { source: ALL } }],
  ["one of a derived channel", "a#all", {}],
  ["one behind a derived channel", "a#all", { modulator: { source: ALL } }],
] as const;
const AGAIN = ["its connection breaks", "its gateway ends", "another goes on at its place"] as const;

test.each(
  SLOW.flatMap(([name, channel, options]) => AGAIN.map(how => [name, how, channel, options] as const)),
)(
  "SLOW-1, DEL-12: %s is told what was dropped of a producer that has gone, though %s before nothing waits any more",
  async (_, how, channel, options) => {
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await using rig = await startRig({ historyFile: join(folder, "history") });
    await using cutter = await startCutter(rig.gateway.address);
    await using session = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
    const seen = new Inbox<number>();
    // A modulator gives the derived channel its name; published events pass it by.
    if (channel !== "a") {
      await rig
        .session()
        .channel("a", Block)
        .produce({ history: { events: 10_000 } });
      await numbersOf(rig, "a", Block, { modulator: { source: ALL }, as: "all" });
    }
    /** The application's last record: its place, and the number of events that it was told to miss. */
    let stored: { readonly place: EventPlace | undefined; readonly missed: number } | undefined;
    const slow = await session.channel(channel, Block).subscribe(
      ({ key }) => {
        if (stored !== undefined && how === "another goes on at its place") return;
        seen.put(key);
        if (key !== 3 || stored !== undefined) return;
        // The first of the events that wait at the gateway is there, and the last is not.
        cutter.part();
        stored = { place: slow.place, missed: slow.stats.missed };
      },
      { queue: { limitBytes: LIMIT_BYTES }, ...options },
    );
    const quick = await numbersOf(rig, channel, Block);
    const leaving = rig.session();
    const producers = [];
    for (const session of [rig.session(), leaving])
      producers.push(await session.channel(channel, Block).produce({ history: { events: 10_000 } }));
    const [stays, goes] = producers as [Producer<Fill>, Producer<Fill>];
    await expect.poll(() => Math.min(stays.demand.total, goes.demand.total)).toBeGreaterThan(1);
    let raised = 0;
    const raise = async (producer: Producer<Fill>, events: number, key: number): Promise<void> => {
      for (const until = raised + events; raised < until; ) {
        producer.publish({ n: ++raised, key, payload: PAYLOAD });
        if (raised % 50 === 0) await quick.take(raised);
      }
      await quick.take(raised);
    };
    await raise(goes, 1, 1);
    await seen.take(1);
    cutter.stall();
    await raise(stays, 1000, 2);
    await raise(goes, 10, 1);
    await raise(stays, 50, 3);
    await leaving.close();
    cutter.slow(2_000_000);
    await expect.poll(() => stored).toBeDefined();
    cutter.slow(Number.POSITIVE_INFINITY);
    await whenState(slow, "reconnecting");
    if (how === "its gateway ends") {
      await rig.gateway.close();
      await rig.again();
    }
    let missed = (): number => slow.stats.missed;
    if (how === "another goes on at its place") {
      const { place, missed: before } = stored as unknown as { place: EventPlace; missed: number };
      const other = await rig
        .session()
        .channel(channel, Block)
        .subscribe(({ key }) => seen.put(key), { from: place, ...options });
      missed = () => before + other.stats.missed;
    } else cutter.join();
    await expect.poll(() => seen.all.length + missed()).toBe(raised);
    expect(seen.all.filter(key => key === 1)).toHaveLength(1);
  },
);
