import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HistoryStore } from "../../src/history/store.ts";

const NAME = "winds/surface";
const retention = { events: 100, seconds: Number.POSITIVE_INFINITY, bytes: 1 << 20, latest: false, key: "" };

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "jecho-"));
  file = join(folder, "history.sqlite");
});
afterEach(() => rm(folder, { recursive: true }));

/** A gateway that ends before it has kept an event. */
async function begin(epoch: number, firstSeq: number): Promise<void> {
  const store = await HistoryStore.open(file, expect.unreachable);
  store.beginEpoch(NAME, { epoch, firstSeq }, retention);
  store.close();
}

async function epochs(): Promise<number[] | undefined> {
  const store = await HistoryStore.open(file, expect.unreachable);
  const stored = store.load(NAME);
  store.close();
  return stored?.epochs.map(({ epoch }) => epoch);
}

test("HIST-5: epochs that begin with the same event, for the gateway ended before it, are known in their order, whatever their numbers", async () => {
  await begin(70, 1);
  await begin(90, 5);
  await begin(20, 5);
  await begin(50, 5);
  await begin(10, 8);
  expect(await epochs()).toEqual([70, 90, 20, 50, 10]);
});

test("HIST-5: a file of before epochs had their order in it goes on", async () => {
  const database = new DatabaseSync(file);
  database.exec(`
    CREATE TABLE epochs (
      channel TEXT NOT NULL, epoch INTEGER NOT NULL, first_seq INTEGER NOT NULL, events REAL, seconds REAL, latest INTEGER NOT NULL,
      PRIMARY KEY (channel, first_seq, epoch)
    ) WITHOUT ROWID;
    INSERT INTO epochs VALUES ('${NAME}', 70, 1, 100, NULL, 0), ('${NAME}', 20, 5, 100, NULL, 0);
  `);
  database.close();
  await begin(90, 9);
  await begin(30, 9);
  expect(await epochs()).toEqual([70, 20, 90, 30]);
});
