import type { DatabaseSync, StatementSync } from "node:sqlite";
import { JechoError, Type } from "@jecho/shared";
import { type EventsFrame, parseFrame } from "@jecho/shared/internal";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";

/** What was kept of a channel when a gateway ended. */
export interface Stored {
  /** In the order in which they began. */
  readonly epochs: readonly EpochStart[];
  readonly runs: readonly LoggedRun[];
  readonly types: readonly Type[];
  /** What was to be kept of it. */
  readonly retention: Omit<Retention, "bytes">;
}

/** How long a gateway that starts waits for the one before it to let go of the file. */
const BUSY_MS = 1000;
const SQLITE_BUSY = 5;

/** The lock is the operating system's: it goes with the process that has it, however that ends. */
const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS epochs (
    channel TEXT NOT NULL, epoch INTEGER NOT NULL, first_seq INTEGER NOT NULL, events REAL, seconds REAL, latest INTEGER NOT NULL,
    ordinal INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (channel, first_seq, epoch)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS runs (
    channel TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, source TEXT NOT NULL, frame BLOB NOT NULL,
    PRIMARY KEY (channel, seq)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS types (channel TEXT NOT NULL, token TEXT NOT NULL, schema BLOB NOT NULL, PRIMARY KEY (channel, token))
    WITHOUT ROWID;
`;

/**
 * Keeps history in a file of SQLite, so that it survives a restart of the gateway. Each run is handed to the operating system
 * before it is sent to anybody, so that a place that a consumer has seen is never given to another event; what the power
 * takes with it is another matter, and told by the counts. Where the disk fails, or what is on it cannot be read, nothing is kept
 * any more and live events go on.
 */
export class HistoryStore {
  readonly #database: DatabaseSync;
  readonly #statements: Record<"run" | "epoch" | "type" | "trimSeq" | "trimTime", StatementSync>;
  readonly #log: (line: string) => void;
  #failed = false;

  private constructor(database: DatabaseSync, log: (line: string) => void) {
    this.#database = database;
    this.#log = log;
    database.exec(SCHEMA);
    // A file that was begun before epochs were numbered in the order of their beginnings.
    if (!columnsOf(database, "epochs").includes("ordinal"))
      database.exec("ALTER TABLE epochs ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0");
    this.#statements = {
      run: database.prepare("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)"),
      epoch: database.prepare(`
        INSERT OR REPLACE INTO epochs
        VALUES (?1, ?, ?, ?, ?, ?, (SELECT coalesce(max(ordinal), 0) + 1 FROM epochs WHERE channel = ?1))
      `),
      type: database.prepare("INSERT OR IGNORE INTO types VALUES (?, ?, ?)"),
      trimSeq: database.prepare("DELETE FROM runs WHERE channel = ? AND seq < ?"),
      trimTime: database.prepare("DELETE FROM runs WHERE channel = ? AND at < ?"),
    };
  }

  /** @throws JechoError `HISTORY_IN_USE` where another gateway has the file, `ARGUMENT_INVALID` where it cannot be used */
  static async open(file: string, log: (line: string) => void): Promise<HistoryStore> {
    const { DatabaseSync } = await import("node:sqlite");
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(file);
      return new HistoryStore(database, log);
    } catch (error) {
      database?.close();
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY)
        throw new JechoError(
          "HISTORY_IN_USE",
          `another gateway keeps its history in ${file}: end that one, or give this one a file of its own`,
        );
      throw new JechoError("ARGUMENT_INVALID", `the history's file ${file}: ${(error as Error).message}`);
    }
  }

  /** What is kept of this channel; undefined where nothing ever was, or it cannot be read. */
  load(channel: string): Stored | undefined {
    let stored: Stored | undefined;
    this.#use(() => {
      stored = this.#read(channel);
    });
    return stored;
  }

  #read(channel: string): Stored | undefined {
    const rows = (table: string, order: string): Record<string, unknown>[] =>
      this.#database.prepare(`SELECT * FROM ${table} WHERE channel = ? ORDER BY ${order}`).all(channel);
    // One in which nothing was kept, for the gateway ended soon, begins with the same event as the next.
    const epochs = rows("epochs", "ordinal, first_seq");
    const newest = epochs.at(-1);
    if (newest === undefined) return undefined;
    const { events, seconds, latest } = newest;
    return {
      epochs: epochs.map(({ epoch, first_seq }) => ({ epoch: Number(epoch), firstSeq: Number(first_seq) })),
      runs: rows("runs", "seq").map(({ at, source, frame }) => ({
        frame: storedFrame(frame as Uint8Array),
        source: BigInt(source as string),
        at: at as number,
      })),
      types: rows("types", "token").map(({ schema }) =>
        Type.fromSchema(new Uint8Array(schema as Uint8Array)),
      ),
      retention: { events: boundOf(events), seconds: boundOf(seconds), latest: latest === 1 },
    };
  }

  beginEpoch(channel: string, { epoch, firstSeq }: EpochStart, retention: Retention): void {
    const { events, seconds, latest } = retention;
    this.#use(() => {
      this.#statements.epoch.run(
        channel,
        epoch,
        firstSeq,
        storedBound(events),
        storedBound(seconds),
        latest ? 1 : 0,
      );
    });
  }

  addType(channel: string, token: bigint, schema: Uint8Array): void {
    this.#use(() => this.#statements.type.run(channel, String(token), schema));
  }

  append(channel: string, { frame, source, at }: LoggedRun): void {
    this.#use(() => this.#statements.run.run(channel, frame.seq, at, String(source), frame.raw()));
  }

  /** Lets go of what is before this event, or beyond the retention's time. */
  trim(channel: string, firstSeq: number, retention: Retention): void {
    this.#use(() => {
      this.#statements.trimSeq.run(channel, firstSeq);
      if (Number.isFinite(retention.seconds))
        this.#statements.trimTime.run(channel, Date.now() - retention.seconds * 1000);
    });
  }

  /** Forgets all of a channel. */
  forget(channel: string): void {
    this.#use(() => {
      for (const table of ["runs", "epochs", "types"])
        this.#database.prepare(`DELETE FROM ${table} WHERE channel = ?`).run(channel);
    });
  }

  close(): void {
    this.#try(() => this.#database.close());
  }

  #use(use: () => void): void {
    if (!this.#failed) this.#try(use);
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      this.#log(`history is not kept any more: ${(error as Error).message}`);
    }
  }
}

function columnsOf(database: DatabaseSync, table: string): unknown[] {
  return database
    .prepare("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map(({ name }) => name);
}

/** A copy begins at a multiple of 8, as typed arrays want it. */
function storedFrame(stored: Uint8Array): EventsFrame {
  const bytes = new Uint8Array(stored);
  return parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength) as EventsFrame;
}

/** SQLite knows no infinity. */
function storedBound(bound: number): number | null {
  return Number.isFinite(bound) ? bound : null;
}

function boundOf(stored: unknown): number {
  return typeof stored === "number" ? stored : Number.POSITIVE_INFINITY;
}
