import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { StreamStore } from "../../src/history/stream-store.ts";
import { fill, NAME, range, retention, runOf, seqs } from "./runs.ts";

const withoutNats = await whyNoNats();

/** A gateway's store, and what it told. */
class Home {
  readonly store: StreamStore;
  readonly told: string[];
  readonly connection: NatsConnection;

  private constructor(store: StreamStore, told: string[], connection: NatsConnection) {
    this.store = store;
    this.told = told;
    this.connection = connection;
  }

  /** One that has at hand what is stored of the channel. */
  static async begin(nats: TestNats, isMember = (): boolean => true): Promise<Home> {
    const told: string[] = [];
    const connection = await connect({
      servers: nats.address,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
    });
    onTestFinished(() => connection.close());
    const store = await StreamStore.open(connection, "test", 1, {
      isMember,
      isHome: () => true,
      lost: channel => void told.push(`lost ${channel}`),
      failed: (channel, why) => void told.push(`failed ${channel}: ${why}`),
      log: line => void told.push(line),
    });
    onTestFinished(() => store.close());
    await store.fetch(NAME);
    return new Home(store, told, connection);
  }

  /** Sequence numbers that are stored. */
  get stored(): number[] {
    return seqs(this.store.load(NAME));
  }
}

async function startNats(): Promise<TestNats> {
  const nats = await TestNats.start();
  onTestFinished(() => nats.stop());
  return nats;
}

describe.skipIf(withoutNats)("in JetStream", () => {
  test("HIST-8: a former home stores nothing any more once the next one has begun, and hears that it is no home", async () => {
    const nats = await startNats();
    const former = await Home.begin(nats);
    fill(former.store, NAME, 70, 1, 10);
    await former.store.settled();
    const next = await Home.begin(nats);
    expect(next.stored).toEqual(range(1, 10));
    fill(next.store, NAME, 90, 11, 12);
    await next.store.settled();
    let isStored = false;
    void former.store.append(NAME, runOf(11, 70))?.then(() => {
      isStored = true;
    });
    await expect.poll(() => former.told).toEqual([`lost ${NAME}`]);
    fill(next.store, NAME, 90, 13, 14);
    await next.store.settled();
    expect((await Home.begin(nats)).stored).toEqual(range(1, 14));
    expect([isStored, next.told]).toEqual([false, []]);
  });

  test("HIST-8: a former home that does not know of the next one forgets nothing of what that has", async () => {
    const nats = await startNats();
    const derived = `${NAME} filtered`;
    const former = await Home.begin(nats);
    fill(former.store, NAME, 70, 1, 10);
    fill(former.store, derived, 71, 1, 5);
    await former.store.settled();
    const next = await Home.begin(nats);
    expect(seqs(next.store.load(derived))).toEqual(range(1, 5));
    fill(next.store, derived, 91, 6, 7);
    await next.store.settled();
    former.store.forget(derived);
    await former.store.settled();
    fill(next.store, derived, 91, 8, 9);
    await next.store.settled();
    expect(seqs((await Home.begin(nats)).store.load(derived))).toEqual(range(1, 9));
    expect([former.told, next.told]).toEqual([[], []]);
  });

  test("HIST-8: while NATS is away nothing is said to be stored; then all is, once and in order", async () => {
    const nats = await startNats();
    let isMember = true;
    const home = await Home.begin(nats, () => isMember);
    fill(home.store, NAME, 70, 1, 10);
    await home.store.settled();
    isMember = false;
    await nats.kill();
    let stored = 0;
    for (const seq of range(11, 60)) void home.store.append(NAME, runOf(seq, 70))?.then(() => stored++);
    expect(stored).toBe(0);
    await nats.restart();
    await expect.poll(() => stored, { timeout: 120_000 }).toBe(50);
    expect(home.store.waitingBytes).toBe(0);
    expect((await Home.begin(nats)).stored).toEqual(range(1, 60));
    expect(home.told).toEqual([]);
  });

  test("HIST-8: where JetStream takes no more, that is told, and what comes goes on without", async () => {
    const nats = await startNats();
    const home = await Home.begin(nats);
    fill(home.store, NAME, 70, 1, 10);
    await home.store.settled();
    const manager = await jetstreamManager(home.connection);
    const { state } = await manager.streams.info("test-history");
    await manager.streams.update("test-history", { max_bytes: state.bytes });
    await home.store.append(NAME, runOf(11, 70));
    expect(home.told).toEqual([expect.stringMatching(new RegExp(`^failed ${NAME}: .*maximum bytes`))]);
    expect(home.store.append(NAME, runOf(12, 70))).toBeUndefined();
    expect(home.store.waitingBytes).toBe(0);
    expect((await Home.begin(nats)).stored).toEqual(range(1, 10));
  });

  test("HIST-8: what waits to be stored has a bound; beyond it that is told", async () => {
    const nats = await startNats();
    const home = await Home.begin(nats);
    home.store.beginEpoch(NAME, { epoch: 70, firstSeq: 1 }, retention);
    await home.store.settled();
    nats.signal("SIGSTOP");
    let seq = 1;
    while (home.told.length === 0 && seq < 100) {
      void home.store.append(NAME, runOf(seq, 70, { bytes: 1 << 20 }));
      seq++;
    }
    nats.signal("SIGCONT");
    expect(home.told).toEqual([`failed ${NAME}: NATS does not store as fast as events come`]);
    expect(seq).toBeGreaterThan(60);
    expect(home.store.waitingBytes).toBe(0);
  });
});
