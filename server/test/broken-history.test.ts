import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createGateway, type Gateway, lineLog } from "@jecho/server";
import { typeFromFbs } from "@jecho/shared/fbs";
import { FROM, type Place } from "@jecho/shared/internal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const { schema, token } = typeFromFbs("table Count { n: uint32; } root_type Count;");
const history = { events: 1000, seconds: 0, latest: false, onDemand: true, durable: false };
const CHANNELS = ["a", "b"];
/** Events of a run. */
const COUNT = 3;
/** First byte of a leaf of an index, in SQLite's file format. */
const LEAF = 0x0a;

let folder: string;
let historyFile: string;
let lines: string[];
const log = lineLog(line => lines.push(line));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "jecho-"));
  historyFile = join(folder, "history.sqlite");
  lines = [];
});
afterEach(() => rm(folder, { recursive: true }));

/** A producer sends runs on a channel, of which somebody has an event; all of it is kept when this resolves. */
async function produce(gateway: Gateway, channel: string, runs: number, source = 1n, raised = 1) {
  using client = await RawClient.connect(gateway);
  using consumer = await RawClient.connect(gateway);
  client.say({ kind: "OpenProducer", request: 1, channel, schema, history });
  const { channel: number, producer } = await client.next("ProducerOpened");
  consumer.say({ kind: "OpenConsumer", request: 1, channel, schema: new Uint8Array(0) });
  await consumer.next("ConsumerOpened");
  const place = { channel: number, producer, urgent: false, source, process: 0 };
  client.say({ kind: "Position", ...place, raised: BigInt(raised - 1) });
  for (let n = 0; n < runs; n++) {
    const events = Array(COUNT).fill(new Uint8Array(64).fill(n + 1));
    client.send(encodedRun({ channel: number, producer, raised: raised + n * COUNT, token }, ...events));
  }
  await client.isAlive();
  return { from: await consumer.next("Events").then(({ epoch, seq }) => ({ epoch, seq: BigInt(seq) })) };
}

/** What a consumer is told and sent that begins with the first event. */
async function past(gateway: Gateway, channel: string, from: Partial<Place> = { from: FROM.seq, seq: 1n }) {
  using client = await RawClient.connect(gateway);
  client.say({
    kind: "OpenConsumer",
    request: 1,
    channel,
    schema: new Uint8Array(0),
    from: { from: FROM.now, epoch: 0, seq: 0n, at: 0, speed: 0, ...from },
  });
  const { recovered, missing, replay } = await client.next("ConsumerOpened");
  if (replay !== 0) await client.next("Replayed");
  const seqs: number[] = [];
  for (const frame of client.frames)
    if (frame.kind === "Events") for (let i = 0; i < frame.count; i++) seqs.push(frame.seq + i);
  return { recovered, missing, seqs };
}

/** Sequence numbers from `first` up to `last`. */
function range(first: number, last: number): number[] {
  return Array.from({ length: last + 1 - first }, (_, i) => first + i);
}

const WHOLE = { recovered: true, missing: 0n, seqs: range(1, 30) };

/** Two channels with ten runs each, of a gateway that has ended; then something happens to the file. */
async function leave(breaking: string): Promise<{ from: { epoch: number; seq: bigint } }> {
  await using gateway = await createGateway({ historyFile });
  const [left] = await Promise.all(CHANNELS.map(channel => produce(gateway, channel, 10)));
  await gateway.close();
  const database = new DatabaseSync(historyFile);
  database.exec(breaking);
  database.close();
  return left as { from: { epoch: number; seq: bigint } };
}

/** Flips one bit in the middle of a row's frame, where an event is. */
async function flip(seq: number): Promise<void> {
  const database = new DatabaseSync(historyFile);
  const { frame } = database.prepare("SELECT frame FROM runs WHERE channel = 'a' AND seq = ?").get(seq) as {
    frame: Uint8Array;
  };
  const at = frame.byteLength - 80;
  (frame as Uint8Array)[at] = (frame[at] as number) ^ 1;
  database.prepare("UPDATE runs SET frame = ? WHERE channel = 'a' AND seq = ?").run(frame, seq);
  database.close();
}

test.for<readonly [seq: number, rest: number[]]>([
  [13, [...range(1, 12), ...range(16, 30)]],
  [1, range(4, 30)],
  [28, range(1, 27)],
])(
  "HIST-5, F27: one flipped bit in the stored run of event %i: it is missing and told, and all else goes on",
  async ([seq, rest]) => {
    await leave("");
    await flip(seq);
    for (const restart of [1, 2]) {
      await using gateway = await createGateway({ historyFile, log });
      expect(await past(gateway, "a")).toEqual({ recovered: false, missing: 3n, seqs: rest });
      expect(await past(gateway, "b")).toEqual(WHOLE);
      expect(lines).toEqual(
        Array(restart).fill(
          `of the history of a this cannot be read, and is told to consumers as missing: events ${seq} to ${seq + 2}`,
        ),
      );
    }
    await using gateway = await createGateway({ historyFile, log });
    // What comes now has numbers that no other event ever had, and is kept.
    await produce(gateway, "a", 1, 2n);
    expect(await past(gateway, "a")).toEqual({ recovered: false, missing: 3n, seqs: [...rest, 31, 32, 33] });
    await gateway.close();
    await using next = await createGateway({ historyFile, log });
    expect(await past(next, "a")).toEqual({ recovered: false, missing: 3n, seqs: [...rest, 31, 32, 33] });
  },
);

test("HIST-5, HIST-6: who asks by time is told that a stored event since then cannot be read", async () => {
  await leave("");
  const leftAt = Date.now();
  await flip(28);
  await using gateway = await createGateway({ historyFile, log });
  const since = (at: number) => past(gateway, "a", { from: FROM.time, at });
  expect(await since(0)).toEqual({ recovered: false, missing: 3n, seqs: range(1, 27) });
  expect(await since(leftAt)).toMatchObject({ recovered: false });
  expect(await since(Date.now() + 60_000)).toEqual({ recovered: true, missing: 0n, seqs: [] });
});

test.for([
  ["UPDATE types SET schema = x'00'", "1 type"],
  ["UPDATE types SET schema = (SELECT schema FROM types), token = token + 1", "1 type"],
  ["UPDATE epochs SET first_seq = 5", "1 epoch"],
  [
    "UPDATE runs SET seq = 4611686018427387905 WHERE seq = 28",
    "cannot be read, and is told to consumers as missing: events 28 to 30",
  ],
  ["UPDATE runs SET frame = x'' WHERE seq < 6", "events 1 to 3, events 4 to 6"],
  ["UPDATE runs SET source = 'x' WHERE seq = 4", "events 4 to 6"],
  ["UPDATE runs SET at = 5 WHERE seq = 4", "events 4 to 6"],
] as const)(
  "HIST-5: after %s live events go on, others' history, too, and it is logged",
  async ([breaking, said]) => {
    await leave(`${breaking}${breaking.includes("WHERE") ? " AND" : " WHERE"} channel = 'a'`);
    await using gateway = await createGateway({ historyFile, log });
    await past(gateway, "a");
    await produce(gateway, "a", 1, 2n);
    expect(await past(gateway, "b")).toEqual(WHOLE);
    expect(lines).toEqual([expect.stringContaining(said)]);
  },
);

test("HIST-5: of a numbering whose beginning cannot be read nothing is claimed", async () => {
  const { from } = await leave("UPDATE epochs SET first_seq = 5 WHERE channel = 'a'");
  await using gateway = await createGateway({ historyFile, log });
  expect(await past(gateway, "a", { from: FROM.resume, ...from })).toMatchObject({ recovered: false });
  expect(await past(gateway, "b")).toEqual(WHOLE);
});

test("HIST-5, F27: a file with a destroyed header is kept, and history goes on in a new one", async () => {
  await leave("");
  const bytes = await readFile(historyFile);
  bytes.fill(0xff, 0, 100);
  await writeFile(historyFile, bytes);
  const aside = `${historyFile}.damaged-1`;
  {
    await using gateway = await createGateway({ historyFile, log });
    expect(lines).toEqual([
      expect.stringMatching(`is damaged .*: it is kept as ${aside}, and history goes on in a new file`),
    ]);
    await produce(gateway, "a", 10);
  }
  expect(await readFile(aside)).toEqual(bytes);
  await using gateway = await createGateway({ historyFile, log });
  expect(await past(gateway, "a")).toEqual(WHOLE);
  expect(lines).toHaveLength(1);
});

test("HIST-5, F27: of a file with a destroyed page the rest goes into a new one while the gateway runs", async () => {
  let identity = "";
  {
    await using gateway = await createGateway({ historyFile });
    for (const channel of CHANNELS) await produce(gateway, channel, 200);
    identity = gateway.identity;
  }
  const bytes = await readFile(historyFile);
  // In each of these pages are runs of the one channel, the events of which are full of their run's number. An inner page, which has some, too,
  // is the way to half of the others.
  const pages = Array.from({ length: bytes.length / 4096 }, (_, i) =>
    bytes.subarray(i * 4096, (i + 1) * 4096),
  );
  pages.findLast(page => page[0] === LEAF && page.includes(Buffer.alloc(64, 100)))?.fill(0);
  await writeFile(historyFile, bytes);
  await using gateway = await createGateway({ historyFile, log });
  const found = await Promise.all(CHANNELS.map(channel => past(gateway, channel)));
  expect(lines[0]).toContain(`it is kept as ${historyFile}.damaged-1`);
  expect(await readdir(folder)).toContain("history.sqlite.damaged-1");
  const kept = found.reduce((sum, { seqs }) => sum + seqs.length, 0);
  const missing = found.reduce((sum, { missing: some }) => sum + Number(some), 0);
  // Nobody knows whether there was anything behind the newest of each channel: one event is told for that.
  expect(kept + missing).toBe(1200 + CHANNELS.length);
  expect(missing).toBeGreaterThan(0);
  expect(missing).toBeLessThan(100);
  for (const { recovered, missing: some } of found) expect(recovered).toBe(some === 0n);
  await produce(gateway, "a", 1, 2n);
  expect((await past(gateway, "a")).seqs.slice(-3)).toEqual(range(602, 604));
  await gateway.close();
  await using next = await createGateway({ historyFile });
  expect([gateway.identity, next.identity]).toEqual([identity, identity]);
});

test("HIST-5: a file that no gateway made is refused and stays as it is", async () => {
  const text = "This is nobody's history.\n".repeat(1000);
  await writeFile(historyFile, text);
  await expect(createGateway({ historyFile })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("not a database"),
  });
  expect(await readFile(historyFile, "utf8")).toBe(text);
  expect(await readdir(folder)).toEqual(["history.sqlite"]);
});
