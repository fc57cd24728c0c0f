import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventsFrame } from "@jecho/shared/internal";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LoggedRun } from "../../src/history/event-log.ts";
import { FileStore } from "../../src/history/file-store.ts";
import { encodedRun } from "../raw-client.ts";
import { seeded } from "../seeded.ts";

const NAME = "winds/surface";
const retention = {
  events: 100,
  seconds: Number.POSITIVE_INFINITY,
  bytes: 1 << 20,
  latest: false,
  key: "",
  durable: false,
};

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "jecho-"));
  file = join(folder, "history.sqlite");
});
afterEach(() => rm(folder, { recursive: true }));

/** A gateway that ends before it has kept an event. */
async function begin(epoch: number, firstSeq: number): Promise<void> {
  const store = await FileStore.open(file, expect.unreachable);
  store.beginEpoch(NAME, { epoch, firstSeq }, retention);
  store.close();
}

async function epochs(): Promise<number[] | undefined> {
  const store = await FileStore.open(file, expect.unreachable);
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

test("HIST-5: wherever a bit of the file is flipped, rows that are lost are told, also where their keys were damaged", async () => {
  const [channels, runs] = [[NAME, `${NAME} even`], 60];
  {
    const store = await FileStore.open(file, expect.unreachable);
    for (const name of channels) {
      store.beginEpoch(name, { epoch: 7, firstSeq: 1 }, retention);
      for (let seq = 1; seq <= runs; seq++) store.append(name, storedRun(seq));
    }
    store.close();
  }
  const whole = await readFile(file);
  const random = seeded(11);
  let silent = 0;
  let damaged = 0;
  for (let n = 0; n < 1000; n++) {
    const flipped = Buffer.from(whole);
    // Behind the header.
    const at = 100 + Math.floor(random() * (whole.byteLength - 100));
    flipped[at] = (flipped[at] as number) ^ (1 << Math.floor(random() * 8));
    const copy = join(folder, `flipped-${n}`);
    await writeFile(copy, flipped);
    const lines: string[] = [];
    const store = await FileStore.open(copy, line => lines.push(line));
    const kept = channels.map(name => store.load(name)?.runs.length ?? 0);
    store.close();
    if (lines.some(line => line.includes("is damaged"))) {
      // What goes on in a new file is sound.
      (await FileStore.open(copy, expect.unreachable)).close();
    }
    await Promise.all([copy, `${copy}.damaged-1`].map(path => rm(path, { force: true })));
    if (lines.length > 0) damaged++;
    else if (kept.some(count => count < runs)) silent++;
  }
  expect(silent).toBe(0);
  // Most flips are in events: their rows are left out.
  expect(damaged).toBeGreaterThan(100);
});

function storedRun(seq: number): LoggedRun {
  const header = { channel: 1, producer: 1, raised: seq };
  const frame = EventsFrame.at(encodedRun(header, new Uint8Array(200).fill(seq)));
  frame.stamp(7, seq);
  return { frame, source: 5n, origin: 0n, by: "", at: seq };
}
