import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { type Type, typeFromSchema } from "@jecho/shared";
import { EventsFrame, parseFrame } from "@jecho/shared/internal";
import { type EpochStart, type LoggedRun, type Retention, UNBOUNDED } from "./event-log.ts";

/** The stored history of a channel. */
export interface Stored {
  /** Epochs in the order in which they began. */
  readonly epochs: readonly EpochStart[];
  /** The readable runs; the numbers of other events are left out. */
  readonly runs: readonly LoggedRun[];
  /** Sequence number behind the newest event, readable or not; undefined where none was kept. */
  readonly nextSeq: number | undefined;
  readonly types: readonly Type[];
  /** Requested bounds. */
  readonly retention: Omit<Retention, "bytes">;
}

type StoredRow = Record<string, unknown>;

/** Most events of an unreadable row, whose number may be damaged, too. */
const MOST_EVENTS = 1 << 20;
/** Most rows that a line of the log names. */
const MOST_NAMED = 10;

/** A checksum of a row's columns, which detects any single flipped bit. */
export function sumOf(...columns: readonly (string | number | Uint8Array)[]): number {
  let sum = 0;
  for (const column of columns) sum = crc32(typeof column === "number" ? `${column} ` : column, sum);
  return sum;
}

/** Reads this channel's history, as far as it is readable. @returns undefined where there is none */
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
  // An epoch without kept events begins with the same event as the next one.
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
    // A row may also be missing, except before the first kept run, where only the newest of each key are kept.
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
    // Numbers before an unknown epoch cannot be related to those behind it.
    epochs: epochs.slice(epochs.lastIndexOf(undefined) + 1) as EpochStart[],
    runs,
    nextSeq,
    types: types.filter(type => type !== undefined),
    retention: newest?.retention ?? UNBOUNDED,
  };
}

function unreadable(rows: readonly unknown[], noun: string): string[] {
  const lost = rows.filter(row => row === undefined).length;
  return lost === 0 ? [] : [`${lost} ${noun}${lost === 1 ? "" : "s"}`];
}

export function attempt<T>(read: () => T): T | undefined {
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
      ...UNBOUNDED,
      events: boundOf(events),
      seconds: boundOf(seconds),
      latest: Number(latest) === 1,
      key: key as string,
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

/** A source, then the raw source of a modulator's output, then the subject, which may have spaces. */
export function sourceOf(stored: string): Pick<LoggedRun, "source" | "origin" | "by"> {
  const [source = "0", origin = "0", ...by] = stored.split(" ");
  return { source: BigInt(source), origin: BigInt(origin), by: by.join(" ") };
}

/** The column for `sourceOf`. */
export function storedSource({ source, origin, by }: LoggedRun): string {
  if (by !== "") return `${source} ${origin} ${by}`;
  return origin === 0n ? String(source) : `${source} ${origin}`;
}

/** Copies to an address that is a multiple of 8, for typed arrays. */
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
 * The stretch of an unreadable run: its first sequence number, and the one behind its last. These numbers may
 * be damaged, too.
 *
 * @param expected number behind the run before
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
