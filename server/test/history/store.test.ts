import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import { connect } from "@nats-io/transport-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileStore } from "../../src/history/file-store.ts";
import type { HistoryStore } from "../../src/history/store.ts";
import type { Stored } from "../../src/history/stored.ts";
import { StreamStore } from "../../src/history/stream-store.ts";
import { fill, NAME, range, retention, runOf, seqs, TYPE } from "./runs.ts";

/* What each implementation of a store of histories has to do. */

const DERIVED = `${NAME} even`;
const NOTHING = new Set<number>();

/** Opens a store that has what the ones before it have stored. */
type Opener = () => Promise<HistoryStore>;

async function byFile(): Promise<Opener> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return () => FileStore.open(join(folder, "history.sqlite"), expect.unreachable);
}

async function byNats(): Promise<Opener> {
  const nats = await TestNats.start();
  onTestFinished(() => nats.stop());
  return async () => {
    const connection = await connect({ servers: nats.address });
    onTestFinished(() => connection.close());
    return StreamStore.open(connection, "test", 1, {
      isMember: () => true,
      isHome: () => true,
      lost: expect.unreachable,
      failed: expect.unreachable,
      log: expect.unreachable,
    });
  };
}

/** Ends once all is stored, as a gateway does. */
async function end(store: HistoryStore): Promise<void> {
  await store.settled();
  store.close();
}

/** What the next gateway finds. */
async function found(open: Opener, name = NAME): Promise<Stored | undefined> {
  const store = await open();
  await store.fetch(NAME);
  const stored = store.load(name);
  await end(store);
  return stored;
}

const withoutNats = await whyNoNats();

describe.each<[string, () => Promise<Opener>, string | undefined]>([
  ["a file", byFile, undefined],
  ["JetStream", byNats, withoutNats],
])("in %s", (_, begin, whyNot) => {
  test.skipIf(whyNot)(
    "HIST-5: the next gateway finds runs, provenance, numberings, types and bounds",
    async () => {
      const open = await begin();
      const store = await open();
      await store.fetch(NAME);
      expect(store.load(NAME)).toBeUndefined();
      store.beginEpoch(
        NAME,
        { epoch: 70, firstSeq: 1 },
        { ...retention, latest: true, key: "n", seconds: 60 },
      );
      store.addType(NAME, TYPE.token, TYPE.schema);
      await store.append(NAME, runOf(1, 70, { count: 3, by: "the sim's own" }));
      await store.append(NAME, runOf(4, 70));
      await end(store);
      const stored = await found(open);
      expect(stored?.runs.map(({ at, source, origin, by }) => ({ at, source, origin, by }))).toEqual([
        { at: 1000, source: 5n, origin: 7n, by: "the sim's own" },
        { at: 4000, source: 5n, origin: 7n, by: "" },
      ]);
      const [first] = stored?.runs ?? [];
      expect(first?.frame.raw()).toEqual(runOf(1, 70, { count: 3 }).frame.raw());
      expect(stored?.nextSeq).toBe(5);
      expect(stored?.epochs.map(({ epoch, firstSeq }) => [epoch, firstSeq])).toEqual([[70, 1]]);
      expect(stored?.types.map(({ token }) => token)).toEqual([TYPE.token]);
      expect(stored?.retention).toMatchObject({ events: 1000, seconds: 60, latest: true, key: "n" });
    },
  );

  test.skipIf(whyNot)("HIST-5: numberings are known in their order, one behind the other", async () => {
    const open = await begin();
    for (const [epoch, first, last] of [
      [70, 1, 4],
      [20, 5, 4],
      [50, 5, 8],
    ] as const) {
      const store = await open();
      await store.fetch(NAME);
      store.load(NAME);
      fill(store, NAME, epoch, first, last);
      await end(store);
    }
    const stored = await found(open);
    expect(stored?.epochs.map(({ epoch, firstSeq }) => [epoch, firstSeq])).toEqual([
      [70, 1],
      [20, 5],
      [50, 5],
    ]);
    expect(seqs(stored)).toEqual(range(1, 8));
  });

  test.skipIf(whyNot)("HIST-1: what is beyond the bounds goes, but for the newest of each key", async () => {
    const open = await begin();
    const store = await open();
    await store.fetch(NAME);
    fill(store, NAME, 70, 1, 20, true);
    await store.settled();
    store.trim(NAME, 11, new Set([3]));
    await store.append(NAME, runOf(21, 70));
    await end(store);
    const left = seqs(await found(open));
    expect(left.filter(seq => seq > 10)).toEqual(range(11, 21));
    expect(left).toContain(3);
  });

  test.skipIf(whyNot)("HIST-1: a channel that goes on for long keeps to its bounds", async () => {
    const open = await begin();
    const store = await open();
    await store.fetch(NAME);
    store.beginEpoch(NAME, { epoch: 70, firstSeq: 1 }, retention);
    for (let seq = 1; seq <= 600; seq++) {
      const stored = store.append(NAME, runOf(seq, 70));
      if (seq % 20 !== 0) continue;
      await stored;
      store.trim(NAME, seq - 9, NOTHING);
    }
    await end(store);
    const stored = await found(open);
    expect(seqs(stored).length).toBeLessThan(60);
    expect(seqs(stored).slice(-10)).toEqual(range(591, 600));
    expect(stored?.epochs).toHaveLength(1);
  });

  test.skipIf(whyNot)("HIST-5: what is derived is stored apart, and forgotten alone", async () => {
    const open = await begin();
    const store = await open();
    await store.fetch(NAME);
    fill(store, NAME, 70, 1, 5);
    fill(store, DERIVED, 71, 1, 3);
    await end(store);
    expect(seqs(await found(open, DERIVED))).toEqual(range(1, 3));
    const next = await open();
    await next.fetch(NAME);
    next.load(NAME);
    next.load(DERIVED);
    next.forget(DERIVED);
    await end(next);
    expect(await found(open, DERIVED)).toBeUndefined();
    expect(seqs(await found(open))).toEqual(range(1, 5));
  });

  test.skipIf(whyNot)(
    "HIST-5: a channel that is forgotten and begins again has nothing of before",
    async () => {
      const open = await begin();
      const store = await open();
      await store.fetch(NAME);
      fill(store, NAME, 70, 1, 5);
      store.forget(NAME);
      fill(store, NAME, 90, 1, 2);
      await end(store);
      const stored = await found(open);
      expect(seqs(stored)).toEqual([1, 2]);
      expect(stored?.epochs.map(({ epoch }) => epoch)).toEqual([90]);
    },
  );

  test.skipIf(whyNot)("HIST-1: a run of any size is stored whole, between others", async () => {
    const open = await begin();
    const store = await open();
    await store.fetch(NAME);
    fill(store, NAME, 70, 1, 2);
    void store.append(NAME, runOf(3, 70, { bytes: 5 << 20 }));
    void store.append(NAME, runOf(4, 70));
    await end(store);
    const stored = await found(open);
    expect(seqs(stored)).toEqual(range(1, 4));
    const [large, written] = [stored?.runs[2], runOf(3, 70, { bytes: 5 << 20 })];
    expect(Buffer.compare(large?.frame.raw() as Uint8Array, written.frame.raw())).toBe(0);
  });

  test.skipIf(whyNot)(
    "DEL-3: what a run's promise says is stored the next gateway finds, whatever ends this one",
    async () => {
      const open = await begin();
      const store = await open();
      await store.fetch(NAME);
      store.beginEpoch(NAME, { epoch: 70, firstSeq: 1 }, retention);
      const promises = range(1, 200).map(seq => store.append(NAME, runOf(seq, 70)));
      await promises[99];
      // No word of leave.
      store.close();
      const stored = seqs(await found(open));
      expect(stored.length).toBeGreaterThanOrEqual(100);
      expect(stored).toEqual(range(1, stored.length));
    },
  );
});
