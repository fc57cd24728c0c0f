import { type Consumer, connect, type Producer, type Session } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { startCutter } from "@jecho/e2e/cutter";
import { whyNoNats } from "@jecho/e2e/nats";
import { describe, expect, onTestFinished, test } from "vitest";
import { EVEN, Inbox, Tick, whenState } from "../rig.ts";
import { ClusterRig, type Joining } from "./rig.ts";

type TickEvent = { readonly n: number; readonly note: string };

/** Names of channels: some of them have their homes at each of a few gateways. */
const NAMES = Array.from({ length: 9 }, (_, i) => `sim/${i}`);

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

interface Heard {
  readonly inbox: Inbox<number>;
  readonly consumer: Consumer<TickEvent>;
}

async function hear(session: Session, name: string, options = {}): Promise<Heard> {
  const inbox = new Inbox<number>();
  const consumer = await session.channel(name, Tick).subscribe(({ n }) => inbox.put(n), options);
  return { inbox, consumer };
}

async function raise(producer: Producer<TickEvent>, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) await producer.publishWhenReady({ n, note: "" });
}

/** Opens a producer of each channel at one gateway, and consumers of it at the two others, one of them with a modulator. */
function openAll(rig: ClusterRig, names: readonly string[]) {
  return Promise.all(
    names.map(async (name, i) => {
      const producer = await rig
        .session(i % 3)
        .channel(name, Tick)
        .produce();
      const plain = await hear(rig.session((i + 1) % 3), name);
      const filtered = await hear(rig.session((i + 2) % 3), name, { modulator: EVEN });
      await expect.poll(() => producer.demand.total).toBe(2);
      return { producer, plain, filtered };
    }),
  );
}

const withoutNats = await whyNoNats();

describe.each<[Joining, string | undefined]>([
  ["TCP", undefined],
  ["NATS", withoutNats],
])("by %s", (joining, whyNot) => {
  test.skipIf(whyNot)(
    "CLU-1: whichever gateways producers and consumers are connected to, each event comes once and in order",
    async () => {
      const rig = await ClusterRig.start(3, joining);
      const producing = [0, 1, 2].map(i => rig.session(i));
      const consuming = [0, 1, 2].map(i => rig.session(i));
      await Promise.all(
        NAMES.map(async (name, i) => {
          const producer = await (producing[i % 3] as Session).channel(name, Tick).produce();
          const plain = await Promise.all(consuming.map(session => hear(session, name)));
          const filtered = await Promise.all(
            consuming.map(session => hear(session, name, { modulator: EVEN })),
          );
          await expect.poll(() => producer.demand.total).toBe(6);
          await raise(producer, 1, 500);
          for (const { inbox } of plain) expect(await inbox.take(500)).toEqual(upTo(500));
          for (const { inbox, consumer } of filtered) {
            expect(await inbox.take(250)).toEqual(upTo(500).filter(n => n % 2 === 0));
            // A gateway that a busy machine starves may be left meanwhile: what it was the home of is installed again.
            await expect.poll(() => consumer.placements.map(({ at }) => at)).toEqual(["producer"]);
          }
        }),
      );
      await Promise.all(producing.map(session => session.flush()));
    },
  );

  test.skipIf(whyNot)(
    "CLU-7: an event that a producer's gateway takes comes to consumers whose gateways take less of their own clients",
    async () => {
      const rig = await ClusterRig.start(3, joining, i => (i === 0 ? {} : { limitBytes: 1 << 20 }));
      const note = "x".repeat(1_300_000);
      // Channels whose homes are elsewhere.
      await Promise.all(
        NAMES.slice(0, 6).map(async (name, i) => {
          const producer = await rig.session(0).channel(name, Tick).produce();
          const plain = await hear(rig.session(1 + (i % 2)), name);
          const filtered = await hear(rig.session(1 + (i % 2)), name, { modulator: EVEN });
          await expect.poll(() => producer.demand.total).toBe(2);
          for (const n of [1, 2, 3, 4]) producer.publish({ n, note: n === 2 ? note : "" });
          expect(await plain.inbox.take(4)).toEqual([1, 2, 3, 4]);
          expect(await filtered.inbox.take(2)).toEqual([2, 4]);
        }),
      );
    },
  );

  test.skipIf(whyNot)(
    "CLU-2: an answer to a synchronous event counts the consumers at all gateways",
    async () => {
      const rig = await ClusterRig.start(3, joining);
      const producer = await rig.session(0).channel("a", Tick).produce();
      const heard = await Promise.all([0, 1, 2].map(i => hear(rig.session(i), "a")));
      await expect.poll(() => producer.demand.total).toBe(3);
      for (const n of upTo(20)) expect(await producer.publishSync({ n, note: "" })).toBe(3);
      for (const { inbox } of heard) expect(inbox.all).toEqual(upTo(20));
    },
  );

  test.skipIf(whyNot)(
    "CLU-3: when a gateway ends, and when it is back, its clients go on, and no event is lost or comes twice",
    async () => {
      const rig = await ClusterRig.start(3, joining);
      const names = NAMES.slice(0, 6);
      const channels = await openAll(rig, names);
      let raised = 0;
      const go = async (count: number): Promise<void> => {
        await Promise.all(channels.map(({ producer }) => raise(producer, raised + 1, raised + count)));
        raised += count;
        for (const { plain, filtered } of channels) {
          await expect.poll(() => plain.inbox.all.at(-1)).toBe(raised);
          await expect.poll(() => filtered.inbox.all.at(-1)).toBe(raised);
        }
      };
      await go(100);
      await rig.gateways[1]?.close();
      await go(100);
      await rig.begin(1);
      await rig.allPresent();
      await go(100);
      for (const { plain, filtered } of channels) {
        expect(plain.inbox.all).toEqual(upTo(300));
        expect(filtered.inbox.all).toEqual(upTo(300).filter(n => n % 2 === 0));
        expect([plain, filtered].map(({ consumer }) => consumer.stats.missed)).toEqual([0, 0]);
      }
    },
  );

  test.skipIf(whyNot)(
    "CLU-4: a shared object has one state, whichever gateways its copies and the modulators that read it are at",
    async () => {
      const rig = await ClusterRig.start(3, joining);
      const source = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    enqueue(event) {
      if (event.n >= this.objects.view.least) super.enqueue(event);
    }
  }`;
      await Promise.all(
        NAMES.map(async (name, i) => {
          const [one, other] = [rig.session(i % 3), rig.session((i + 1) % 3)];
          const producer = await rig
            .session((i + 2) % 3)
            .channel(name, Tick)
            .produce();
          const view = one.share({ least: 0 });
          const { inbox } = await hear(one, name, { modulator: { source, objects: { view } } });
          const copy = await other.attach<{ least: number }>(view.id);
          await raise(producer, 1, 3);
          expect(await inbox.take(3)).toEqual([1, 2, 3]);
          copy.update({ least: 100 });
          await expect.poll(() => view.state.least).toBe(100);
          // The modulator's own copy is told in its turn.
          let n = 3;
          await expect
            .poll(async () => {
              await producer.publishSync({ n: ++n, note: "" });
              return inbox.all.at(-1) === n;
            })
            .toBe(false);
          await raise(producer, 100, 101);
          await expect.poll(() => inbox.all.slice(-2)).toEqual([100, 101]);
        }),
      );
    },
  );

  test.skipIf(whyNot)(
    "CLU-1, HIST-2: all of a past comes from a home elsewhere, though it is more than the way there takes at once",
    async () => {
      const rig = await ClusterRig.start(2, joining);
      const note = "x".repeat(60_000);
      await Promise.all(
        NAMES.slice(0, 4).map(async name => {
          const session = rig.session(0);
          const producer = await session.channel(name, Tick).produce({ history: { events: 100 } });
          for (const n of upTo(100)) await producer.publishWhenReady({ n, note });
          await session.flush();
        }),
      );
      await Promise.all(
        NAMES.slice(0, 4).flatMap(name =>
          [0, 1].map(async i => {
            const { inbox } = await hear(rig.session(i), name, { from: 1 });
            expect(await inbox.take(100)).toEqual(upTo(100));
          }),
        ),
      );
    },
  );

  test.skipIf(whyNot)(
    "CLU-3: a client that stays hears why it connects again: the home of a channel has gone",
    async () => {
      const rig = await ClusterRig.start(2, joining);
      const session = rig.session(0);
      const codes: (string | undefined)[] = [];
      session.onStatus(({ state, error }) => state === "reconnecting" && codes.push(error?.code));
      await Promise.all(NAMES.map(name => hear(session, name)));
      await rig.gateways[1]?.close();
      await expect.poll(() => codes).toEqual(["CHANNEL_MOVED"]);
      await whenState(session, "live");
    },
  );

  test.skipIf(whyNot)(
    "CLU-5: a gateway that nobody answers for is left, and its clients go on at the next one",
    async () => {
      const rig = await ClusterRig.start(2, joining);
      const session = rig.session(0);
      const { inbox, consumer } = await hear(session, "a");
      await rig.gateways[0]?.close();
      await whenState(session, "live");
      const producer = await rig.session(1).channel("a", Tick).produce();
      await whenState(consumer, "live");
      await raise(producer, 1, 3);
      expect(await inbox.take(3)).toEqual([1, 2, 3]);
    },
  );
});

describe.skipIf(withoutNats)("by NATS", () => {
  test("CLU-9: while the NATS server is away, and when it is back, no event is lost, nor comes twice", async () => {
    const rig = await ClusterRig.start(3, "NATS");
    const channels = await openAll(rig, NAMES);
    const go = (from: number, to: number) =>
      Promise.all(channels.map(({ producer }) => raise(producer, from, to)));
    await go(1, 100);
    await rig.nats?.kill();
    const meanwhile = go(101, 200);
    await expect.poll(() => rig.gateways.map(gateway => gateway.stats().gateways)).toEqual([1, 1, 1]);
    await rig.nats?.restart();
    await meanwhile;
    await go(201, 300);
    for (const { plain, filtered } of channels) {
      await expect.poll(() => plain.inbox.all.at(-1)).toBe(300);
      await expect.poll(() => filtered.inbox.all.at(-1)).toBe(300);
      expect(plain.inbox.all).toEqual(upTo(300));
      expect(filtered.inbox.all).toEqual(upTo(300).filter(n => n % 2 === 0));
      expect([plain, filtered].map(({ consumer }) => consumer.stats.missed)).toEqual([0, 0]);
    }
  });
});

test("DEL-12, CLU-3: who was away while a channel moved is told what it missed of producers that were closed before", async () => {
  const rig = await ClusterRig.start(3, "TCP");
  await rig.gateways[1]?.close();
  await expect.poll(() => [0, 2].map(i => rig.gateways[i]?.stats().gateways)).toEqual([2, 2]);
  const raising = rig.session(0);
  const channels = await Promise.all(
    Array.from({ length: 16 }, async (_, i) => {
      const name = `departed/${i}`;
      const producer = await raising.channel(name, Tick).produce();
      // This session knows no other gateway.
      const heard = await hear(rig.session(2, { others: [] }), name);
      await expect.poll(() => producer.demand.total).toBe(1);
      await raise(producer, 1, 5);
      await heard.inbox.take(5);
      return { producer, ...heard };
    }),
  );
  let moved = 0;
  raising.onStatus(({ error }) => error?.code === "CHANNEL_MOVED" && moved++);
  await rig.gateways[2]?.close();
  await expect.poll(() => moved).toBe(1);
  await whenState(raising, "live");
  await raising.flush();
  // The home of the others has gone, and alone knew that they are away.
  const awaited = channels.filter(({ producer }) => producer.demand.total === 1);
  for (const { producer } of channels) {
    await raise(producer, 6, 10);
    await producer.close();
  }
  await rig.begin(1);
  await expect.poll(() => [0, 1].map(i => rig.gateways[i]?.stats().gateways)).toEqual([2, 2]);
  await rig.begin(2);
  expect(awaited.length).toBeGreaterThan(0);
  for (const { inbox, consumer } of awaited) {
    await expect.poll(() => inbox.all.length + consumer.stats.missed).toBe(10);
    expect(inbox.all).toEqual(upTo(inbox.all.length));
  }
});

test("CON-8: what is kept at a channel's home for a client of another gateway has a bound, too", async () => {
  const keptBytes = 64 << 10;
  const rig = await ClusterRig.start(2, "TCP", { keptBytes, resumeWindowMs: 0 });
  const session = rig.session(0);
  const opened = Array.from({ length: 60 }, (_, i) => hear(session, `kept/${i}`));
  const results = await Promise.allSettled(opened);
  const refused = results.filter(({ status }) => status === "rejected");
  expect(refused.length).toBeGreaterThan(30);
  for (const { reason } of refused as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: "OVERLOADED" });
  for (const gateway of rig.gateways) expect(gateway.stats().channels).toBeLessThan(keptBytes >> 12);
});

test("CLU-3: modulators beside a former home are not kept for a producer that was cut off before the channel moved: they begin anew when it is the home again", async () => {
  const rig = await ClusterRig.start(2, "TCP", { modulating: startModulating });
  await rig.gateways[1]?.close();
  await expect.poll(() => rig.gateways[0]?.stats().gateways).toBe(1);
  await using cutter = await startCutter(rig.gateways[0]?.address as string);
  const raising = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 }, modulators: { most: 0 } });
  onTestFinished(() => raising.close());
  const hearing = rig.session(0, { modulators: { most: 0 } });
  const channels = await Promise.all(
    NAMES.map(async name => {
      const producer = await raising.channel(name, Tick).produce();
      const { inbox } = await hear(hearing, name, { modulator: EVEN });
      await raise(producer, 1, 4);
      expect(await inbox.take(2)).toEqual([2, 4]);
      return { producer, inbox };
    }),
  );
  cutter.part();
  await whenState(raising, "reconnecting");
  const moved = whenState(hearing, "reconnecting");
  await rig.begin(1);
  await moved;
  await whenState(hearing, "live");
  cutter.join();
  await whenState(raising, "live");
  for (const { producer } of channels) await raise(producer, 5, 6);
  for (const { inbox } of channels) expect(await inbox.take(3)).toEqual([2, 4, 6]);
  await rig.gateways[1]?.close();
  for (const { producer } of channels) await raise(producer, 7, 8);
  for (const { inbox } of channels) expect(await inbox.take(4)).toEqual([2, 4, 6, 8]);
});
