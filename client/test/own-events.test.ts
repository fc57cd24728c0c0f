import { type Consumer, connect, type Producer, type Session } from "@jecho/client";
import { type Cutter, startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { EVEN, Inbox, type Rig, startRig, Tick, whenState } from "./rig.ts";

type Event = typeof Tick.event;

/** A session that consumes what it raises itself; modulators take it behind the wire's past where its producers run none. */
async function own(
  rig: Rig,
  most: number,
): Promise<AsyncDisposable & { cutter: Cutter; session: Session; seen: Inbox<number> }> {
  const cutter = await startCutter(rig.gateway.address);
  const session = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 }, modulators: { most } });
  return {
    cutter,
    session,
    seen: new Inbox<number>(),
    async [Symbol.asyncDispose]() {
      await session.close();
      await cutter[Symbol.asyncDispose]();
    },
  };
}

/** Raises the numbers `from` to `to`, without `to`. */
function raise(producer: Producer<Event>, from: number, to: number): void {
  for (let n = from; n < to; n++) producer.publish({ n, note: "" });
}

const evens = (to: number): number[] => Array.from({ length: to / 2 }, (_, i) => 2 * i);

test.each([
  ["which run its modulators", 100, false],
  ["which run none", 0, false],
  ["which run none, beside another's consumer", 0, true],
])(
  "MOE-18, DEL-2: over a broken connection a process sees the events of its own producers once, %s",
  async (_, most, besides) => {
    await using rig = await startRig();
    await using mine = await own(rig, most);
    const { session, cutter, seen } = mine;
    // With it the gateway has the events, too, and keeps them for who comes back.
    if (besides)
      await rig
        .session()
        .channel("a", Tick)
        .subscribe(() => {}, { modulator: EVEN, as: "evens" });
    const modulator = { source: `${EVEN.source} ` };
    await session.channel("a", Tick).subscribe(({ n }) => seen.put(n), { modulator });
    const producer = (await session.channel("a", Tick).produce()) as Producer<Event>;
    raise(producer, 0, 10);
    await session.flush();
    raise(producer, 10, 20);
    await seen.take(10);
    cutter.cut();
    raise(producer, 20, 40);
    await session.flush();
    await seen.take(20);
    await session.flush();
    raise(producer, 40, 60);
    await seen.take(30);
    expect(seen.all).toEqual(evens(60));
  },
);

test.each([
  ["without a modulator", undefined, 100],
  ["with one that its producers run", EVEN, 100],
  ["with one, where its producers run none", EVEN, 0],
])(
  "MOE-18, DEL-2: a process that has no connection for a while misses none of its own events: %s",
  async (_, modulator, most) => {
    await using rig = await startRig();
    await using mine = await own(rig, most);
    const { session, cutter, seen } = mine;
    const consumer: Consumer<Event> = await session
      .channel("a", Tick)
      .subscribe(({ n }) => (n % 2 === 0 ? seen.put(n) : undefined), { ...(modulator && { modulator }) });
    const producer = (await session.channel("a", Tick).produce()) as Producer<Event>;
    raise(producer, 0, 20);
    await seen.take(10);
    const isAway = whenState(consumer, "reconnecting");
    cutter.part();
    await isAway;
    raise(producer, 20, 40);
    const isBack = whenState(consumer, "live");
    cutter.join();
    await isBack;
    raise(producer, 40, 60);
    await seen.take(30);
    expect([seen.all, consumer.stats.missed, producer.stats.dropped]).toEqual([evens(60), 0, 0]);
  },
);
