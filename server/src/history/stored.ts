import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { type Type, typeFromSchema } from "@jecho/shared";
import { EventsFrame, parseFrame } from "@jecho/shared/internal";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";

/** The stored history of a channel when a gateway ended. */
export interface Stored {
  /** Epochs in the order in which they began. */
  readonly epochs: readonly EpochStart[];
  /** The runs that can be read; the numbers of the others' events are left out. */
  readonly runs: readonly LoggedRun[];
  /** Sequence number behind the newest event, whether that could be read or not; undefined where none was kept. */
  readonly nextSeq: number | undefined;
  readonly types: readonly Type[];
  /** Bounds of the history that was asked for. */
  readonly retention: Omit<Retention, "bytes">;
}

type StoredRow = Record<string, unknown>;

/** Events that a row may say to have, where nothing else of it can be believed. */
const MOST_EVENTS = 1 << 20;
/** Rows that a line of the log names. */
const MOST_NAMED = 10;

/** A checksum of a row's columns, which finds each flipped bit. */
export function sumOf(...columns: readonly (string | number | Uint8Array)[]): number {
  let sum = 0;
  for (const column of columns) sum = crc32(typeof column === "number" ? `${column} ` : column, sum);
  return sum;
}

/** Reads what is kept of this channel, as far as it can be read. @returns undefined where nothing is */
export function readStored(
  database: DatabaseSync,
  channel: string,
  log: (line: string) => void,
): Stored | undefined {
  const rows = (table: string, order: string): Iterable<StoredRow> => {
    const statement = database.prepare(`SELECT * FROM ${table} WHERE channel = ? ORDER BY ${order}`);
    // A damaged number may be greater than a number of JavaScript's.
    statement.setReadBigInts(true);
    return statement.iterate(channel) as Iterable<StoredRow>;
  };
  // One in which nothing was kept, for the gateway ended soon, begins with the same event as the next.
  const epochs = [...rows("epochs", "ordinal, first_seq")].map(row => attempt(() => epochOf(channel, row)));
  if (epochs.length === 0) return undefined;
  const types = [...rows("types", "token")].map(row => attempt(() => typeOf(row)));
  const newest = epochs.findLast(epoch => epoch !== undefined);
  const runs: LoggedRun[] = [];
  const lost: string[] = [];
  let nextSeq: number | undefined;
  for (const row of rows("runs", "seq")) {
    const run = attempt(() => runOf(channel, row));
    const [first, end] = run === undefined ? placeOf(row, nextSeq) : [run.frame.seq, run.frame.seq];
    if (run !== undefined) runs.push(run);
    // A row may also have gone altogether, unless the newest of each key alone is kept of those before others.
    const lostFrom = newest?.retention.latest ? first : Math.min(nextSeq ?? first, first);
    if (end > lostFrom)
      lost.push(end - 1 === lostFrom ? `event ${lostFrom}` : `events ${lostFrom} to ${end - 1}`);
    nextSeq = Math.max(nextSeq ?? 1, end + (run?.frame.count ?? 0));
  }
  lost.push(...unreadable(epochs, "epoch"), ...unreadable(types, "type"));
  if (lost.length > 0) {
    const more = lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : "";
    log(
      `of the history of ${channel} this cannot be read, and is told to consumers as missing: ${lost.slice(0, MOST_NAMED).join(", ")}${more}`,
    );
  }
  return {
    // Where the numbers before an unknown epoch lie in those behind it nobody knows.
    epochs: epochs.slice(epochs.lastIndexOf(undefined) + 1) as EpochStart[],
    runs,
    nextSeq,
    types: types.filter(type => type !== undefined),
    retention: newest?.retention ?? {
      events: Number.POSITIVE_INFINITY,
      seconds: Number.POSITIVE_INFINITY,
      latest: false,
      key: "",
      durable: false,
    },
  };
}

function unreadable(rows: readonly unknown[], noun: string): string[] {
  const lost = rows.filter(row => row === undefined).length;
  return lost === 0 ? [] : [`${lost} ${noun}${lost === 1 ? "" : "s"}`];
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function epochOf(
  channel: string,
  { epoch, first_seq, events, seconds, latest, key, sum }: StoredRow,
): EpochStart & Pick<Stored, "retention"> {
  const start = { epoch: Number(epoch), firstSeq: Number(first_seq) };
  check(sum, sumOf(channel, start.epoch, start.firstSeq));
  return {
    ...start,
    retention: {
      events: boundOf(events),
      seconds: boundOf(seconds),
      latest: Number(latest) === 1,
      key: key as string,
      durable: false,
    },
  };
}

function typeOf({ token, schema }: StoredRow): Type {
  const type = typeFromSchema(new Uint8Array(schema as Uint8Array));
  if (String(type.token) !== token) throw damaged();
  return type;
}

function runOf(channel: string, { seq, at, source, frame, next_seq, sum }: StoredRow): LoggedRun {
  const stored = frame as Uint8Array;
  const run = {
    frame: storedFrame(stored),
    ...sourceOf(source as string),
    at: Number(at),
  };
  const { seq: first, count } = run.frame;
  check(sum, sumOf(channel, Number(seq), run.at, source as string, stored, Number(next_seq)));
  if (first !== Number(seq) || count < 1) throw damaged();
  return run;
}

/** A source, behind it the raw source of a modulator's output, and behind that the subject, which may have spaces. */
export function sourceOf(stored: string): Pick<LoggedRun, "source" | "origin" | "by"> {
  const [source = "0", origin = "0", ...by] = stored.split(" ");
  return { source: BigInt(source), origin: BigInt(origin), by: by.join(" ") };
}

/** The column that `sourceOf` reads. */
export function storedSource({ source, origin, by }: LoggedRun): string {
  if (by !== "") return `${source} ${origin} ${by}`;
  return origin === 0n ? String(source) : `${source} ${origin}`;
}

/** A copy begins at a multiple of 8, as typed arrays want it. */
export function storedFrame(stored: Uint8Array): EventsFrame {
  const bytes = new Uint8Array(stored);
  const frame = parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength);
  if (!(frame instanceof EventsFrame)) throw damaged();
  return frame;
}

function check(stored: unknown, sum: number): void {
  if (Number(stored) !== sum) throw damaged();
}

function damaged(): Error {
  return new Error("a row is damaged");
}

/**
 * The stretch of a run that cannot be read: its first sequence number, and the one behind its last. These
 * numbers, too, may be damaged.
 *
 * @param expected behind the run before it
 */
function placeOf(row: StoredRow, expected: number | undefined): [first: number, end: number] {
  const [seq, next] = [Number(row.seq), Number(row.next_seq)];
  const isNear = (number: number, from: number): boolean => number >= from && number - from <= MOST_EVENTS;
  const least = expected ?? (Number.isSafeInteger(seq) ? Math.max(1, seq) : 1);
  const first = isNear(seq, least) ? seq : least;
  return [first, isNear(next, first + 1) ? next : first + 1];
}

export function boundOf(stored: unknown): number {
  return stored === null ? Number.POSITIVE_INFINITY : Number(stored);
}
