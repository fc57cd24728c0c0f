import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Consumer, connect, type Session, type SubscribeOptions } from "@jecho/client";
import { freePort, TestNats, whyNoNats } from "@jecho/e2e/nats";
import { createGateway } from "@jecho/server";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { EVEN, Inbox, PATIENT, Tick, whenState } from "../rig.ts";
import { ClusterRig } from "./rig.ts";

const COMMAND = fileURLToPath(import.meta.resolve("@jecho/server/command"));
const GATEWAYS = 3;
/** Some of them have their homes at each of the gateways. */
const NAMES = Array.from({ length: 6 }, (_, i) => `sim/${i}`);
const history = { events: 100_000, durable: true };
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const evenUpTo = (count: number): number[] => upTo(count).filter(n => n % 2 === 0);

/** Gateways in processes of their own, which can be killed. */
class KilledCluster {
  readonly ports: number[] = [];
  readonly #nats: TestNats;
  readonly #children: ChildProcess[] = [];

  private constructor(nats: TestNats) {
    this.#nats = nats;
  }

  static async start(): Promise<KilledCluster> {
    const nats = await TestNats.start();
    onTestFinished(() => nats.stop());
    const cluster = new KilledCluster(nats);
    onTestFinished(async () => {
      for (const index of cluster.#children.keys()) await cluster.kill(index);
    });
    while (cluster.ports.length < GATEWAYS) cluster.ports.push(await freePort());
    await Promise.all(cluster.ports.map((_, index) => cluster.begin(index)));
    return cluster;
  }

  async begin(index: number): Promise<void> {
    const args = ["gateway", "--port", String(this.ports[index]), "--cluster-nats", this.#nats.address];
    const child = fork(COMMAND, args, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    this.#children[index] = child;
    await once(child, "message");
  }

  async kill(index: number): Promise<void> {
    const child = this.#children[index];
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  session(index: number): Session {
    const addresses = this.ports.map((_, i) => `127.0.0.1:${this.ports[(index + i) % GATEWAYS]}`);
    const [first, ...others] = addresses;
    const backoff = { firstMs: 20, mostMs: 200 };
    const session = connect(first as string, {
      place: inject("place"),
      backoff,
      others,
      modulators: PATIENT,
    });
    onTestFinished(() => session.close());
    return session;
  }
}

interface Heard {
  readonly inbox: Inbox<number>;
  readonly consumer: Consumer<{ n: number; note: string }>;
}

async function hear(session: Session, name: string, options: SubscribeOptions = {}): Promise<Heard> {
  const inbox = new Inbox<number>();
  const consumer = await session.channel(name, Tick).subscribe(({ n }) => inbox.put(n), options);
  return { inbox, consumer };
}

const withoutNats = await whyNoNats();

describe.skipIf(withoutNats)("by NATS", () => {
  test("HIST-8, DEL-4: homes that are killed under load, one after the other, lose no event of a durable history, nor its past", async () => {
    const cluster = await KilledCluster.start();
    const channels = await Promise.all(
      NAMES.map(async (name, i) => {
        const producer = await cluster.session(i).channel(name, Tick).produce({ history });
        const plain = await hear(cluster.session(i + 1), name);
        const filtered = await hear(cluster.session(i + 2), name, { modulator: EVEN });
        await expect.poll(() => producer.demand.total).toBe(3);
        return { name, producer, plain, filtered };
      }),
    );
    let isOver = false;
    const raised = Promise.all(
      channels.map(async ({ producer }) => {
        let n = 0;
        while (!isOver) {
          for (let i = 0; i < 5; i++) await producer.publishWhenReady({ n: ++n, note: "" });
          await new Promise(resolve => setTimeout(resolve, 5));
        }
        // Both kinds of consumers have the last one.
        while (n % 2 !== 0) await producer.publishWhenReady({ n: ++n, note: "" });
        return n;
      }),
    );
    const count = (): number => Math.min(...channels.map(({ plain }) => plain.inbox.all.length));
    for (const index of [0, 1, 2]) {
      const before = count();
      await expect.poll(count).toBeGreaterThan(before + 100);
      await cluster.kill(index);
      await expect.poll(count, { timeout: 120_000 }).toBeGreaterThan(before + 300);
      await cluster.begin(index);
    }
    isOver = true;
    const last = await raised;
    await Promise.all(
      channels.map(async ({ name, plain, filtered }, i) => {
        const n = last[i] as number;
        await expect.poll(() => plain.inbox.all.at(-1), { timeout: 120_000 }).toBe(n);
        await expect.poll(() => filtered.inbox.all.at(-1), { timeout: 120_000 }).toBe(n);
        expect(plain.inbox.all).toEqual(upTo(n));
        expect(filtered.inbox.all).toEqual(evenUpTo(n));
        expect([plain, filtered].map(({ consumer }) => consumer.stats.missed)).toEqual([0, 0]);
        const past = await hear(cluster.session(i), name, { from: 1 });
        expect(await past.inbox.take(n)).toEqual(upTo(n));
        const made = await hear(cluster.session(i), name, { from: new Date(0), modulator: EVEN });
        expect(await made.inbox.take(n / 2)).toEqual(evenUpTo(n));
      }),
    );
  });

  test("HIST-8: the past of a channel is at its next home, when the former has ended and nobody was there meanwhile", async () => {
    const rig = await ClusterRig.start(2, "NATS");
    const places = await Promise.all(
      NAMES.map(async name => {
        const session = rig.session(0);
        const producer = await session.channel(name, Tick).produce({ history });
        const hearing = rig.session(1);
        const { inbox, consumer } = await hear(hearing, name);
        for (const n of upTo(10)) producer.publish({ n, note: "" });
        await inbox.take(10);
        await expect.poll(() => consumer.place?.seq).toBe(10);
        const { place } = consumer;
        for (const n of [11, 12]) producer.publish({ n, note: "" });
        await session.flush();
        await Promise.all([session.close(), hearing.close()]);
        return place;
      }),
    );
    await rig.gateways[0]?.close();
    await rig.begin(0);
    await rig.gateways[1]?.close();
    for (const [i, name] of NAMES.entries()) {
      const { inbox, consumer } = await hear(rig.session(0), name, {
        from: places[i] as NonNullable<(typeof places)[0]>,
      });
      expect(await inbox.take(2)).toEqual([11, 12]);
      expect(consumer.status).toMatchObject({ recovered: true, missing: 0 });
      const since = await hear(rig.session(0), name, { from: 1 });
      expect(await since.inbox.take(12)).toEqual(upTo(12));
    }
  });

  test("HIST-8, CLU-3: a home that has moved leaves to the next one what modulators have made for those who are away", async () => {
    const rig = await ClusterRig.start(3, "NATS");
    await rig.gateways[1]?.close();
    const channels = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const name = `moved/${i}`;
        const producing = rig.session(0);
        const producer = await producing.channel(name, Tick).produce({ history });
        // This session knows no other gateway.
        const { inbox, consumer } = await hear(rig.session(2, { others: [] }), name, { modulator: EVEN });
        const restarts: string[] = [];
        consumer.onRestart(({ message }) => restarts.push(message));
        for (const n of upTo(10)) await producer.publishWhenReady({ n, note: "" });
        await inbox.take(5);
        await producing.flush();
        return { producing, producer, inbox, consumer, restarts };
      }),
    );
    await rig.gateways[2]?.close();
    await expect.poll(() => rig.gateways[0]?.stats().gateways).toBe(1);
    for (const { producing, producer } of channels) {
      for (const n of upTo(10)) await producer.publishWhenReady({ n: 10 + n, note: "" });
      await producing.flush();
    }
    await rig.begin(1);
    await expect.poll(() => rig.gateways[1]?.stats().channels).toBeGreaterThan(0);
    await rig.begin(2);
    for (const { inbox, consumer, restarts } of channels) {
      // Those whose home had ended before were wanted by nobody.
      await expect.poll(() => inbox.all.at(-1) === 20 || consumer.stats.missed === 10).toBe(true);
      if (inbox.all.at(-1) !== 20) continue;
      expect(inbox.all).toEqual(evenUpTo(20));
      expect([consumer.stats.missed, restarts]).toEqual([0, []]);
    }
  });

  test("HIST-8, CLU-3: a home that is one again before all have left it goes on storing", async () => {
    const rig = await ClusterRig.start(2, "NATS");
    await rig.gateways[1]?.close();
    const names = Array.from({ length: 16 }, (_, i) => `again/${i}`);
    const session = rig.session(0);
    const producers = await Promise.all(
      names.map(name => session.channel(name, Tick).produce({ history: { ...history, onDemand: false } })),
    );
    const raiseAll = async (from: number, to: number): Promise<void> => {
      for (const producer of producers)
        for (let n = from; n <= to; n++) await producer.publishWhenReady({ n, note: "" });
      await session.flush();
    };
    await raiseAll(1, 5);
    let moved = 0;
    session.onStatus(({ error }) => error?.code === "CHANNEL_MOVED" && moved++);
    await rig.begin(1);
    await rig.gateways[1]?.close();
    // Consumers that come now find the channels before the former users have gone.
    const early = rig.session(0);
    await Promise.all(names.map(name => hear(early, name)));
    await expect.poll(() => moved).toBeGreaterThan(0);
    await whenState(session, "live");
    await raiseAll(6, 10);
    await rig.begin(1);
    await rig.gateways[0]?.close();
    for (const name of names) {
      const { inbox } = await hear(rig.session(1), name, { from: 1 });
      expect(await inbox.take(10)).toEqual(upTo(10));
    }
  });

  test("DEL-3, HIST-8: an event is handed on at once, and confirmed when it is stored; others' are not kept waiting", async () => {
    const rig = await ClusterRig.start(1, "NATS");
    const [session, other] = [rig.session(0), rig.session(0)];
    const producer = await session.channel("a", Tick).produce({ history });
    const plain = await other.channel("b", Tick).produce({ history: { events: 10 } });
    const { inbox } = await hear(rig.session(0), "a");
    producer.publish({ n: 1, note: "" });
    await session.flush();
    rig.nats?.signal("SIGSTOP");
    let n = 1;
    let isConfirmed = true;
    let flushed = Promise.resolve();
    // NATS stops when its turn has come, on a busy machine a little later.
    while (isConfirmed) {
      isConfirmed = false;
      producer.publish({ n: ++n, note: "" });
      flushed = session.flush().then(() => {
        isConfirmed = true;
      });
      await inbox.take(n);
      for (const count of upTo(20)) {
        plain.publish({ n: count, note: "" });
        await other.flush();
      }
    }
    rig.nats?.signal("SIGCONT");
    await flushed;
    expect(inbox.all).toEqual(upTo(n));
    // Without waiting for NATS it would never have been unconfirmed for so long.
    expect(n).toBeLessThan(10);
  });
});

test("HIST-8: where nothing outlives the gateway, a durable history is refused", async () => {
  const rig = await ClusterRig.start(2, "TCP");
  await using alone = await createGateway();
  for (const address of [alone.address, ...rig.gateways.map(gateway => gateway.address)]) {
    const session = connect(address);
    onTestFinished(() => session.close());
    await expect(session.channel("a", Tick).produce({ history })).rejects.toMatchObject({
      code: "HISTORY_NOT_DURABLE",
      retry: false,
    });
    await expect(session.channel("a", Tick).produce({ history: { durable: true } })).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
    });
  }
});
