import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isIdentity } from "@jecho/shared";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import { HistoryFile } from "./history-file.ts";
import type { HistoryStore } from "./store.ts";
import { readStored, type Stored, storedSource, sumOf } from "./stored.ts";

/**
 * Keeps history in a file of SQLite, so that it survives a restart of the gateway. Each run is handed to the operating system
 * before it is sent, so that a place that a consumer has seen is never given to another event. Events that a power failure loses are
 * told by the counts, unreadable ones as missing. If the disk fails, no more is kept, and live events go on.
 */
export class FileStore implements HistoryStore {
  readonly isForDurable = false;
  /** Everything is written at once. */
  readonly waitingBytes = 0;
  readonly #file: HistoryFile;
  readonly #log: (line: string) => void;
  #statements: ReturnType<typeof prepare>;
  #failed = false;
  #identity = "";

  private constructor(file: HistoryFile, log: (line: string) => void) {
    this.#file = file;
    this.#log = log;
    this.#statements = prepare(file.database);
  }

  /** @throws JechoError `HISTORY_IN_USE` where another gateway has the file, `ARGUMENT_INVALID` where it cannot be used */
  static async open(path: string, log: (line: string) => void): Promise<FileStore> {
    return new FileStore(await HistoryFile.open(path, log), log);
  }

  /** The identity of this file's gateways. @param fresh for a file without a readable one */
  identity(fresh: string): string {
    this.#identity = fresh;
    this.#use(() => {
      const { database } = this.#file;
      const known = database.prepare("SELECT value FROM gateway WHERE name = 'identity'").get()?.value;
      if (isIdentity(String(known))) this.#identity = String(known);
      else this.#writeIdentity();
    });
    return this.#identity;
  }

  #writeIdentity(): void {
    this.#file.database.prepare("INSERT OR REPLACE INTO gateway VALUES ('identity', ?)").run(this.#identity);
  }

  fetch(): undefined {}

  /** Undefined where nothing is stored, or the file cannot be read. Unreadable rows are left out, and logged. */
  load(channel: string): Stored | undefined {
    let stored: Stored | undefined;
    this.#use(() => {
      stored = readStored(this.#file.database, channel, this.#log);
    });
    return stored;
  }

  beginEpoch(channel: string, { epoch, firstSeq }: EpochStart, retention: Retention): void {
    const { events, seconds, latest, key } = retention;
    this.#use(() => {
      this.#statements.epoch.run(
        channel,
        epoch,
        firstSeq,
        storedBound(events),
        storedBound(seconds),
        latest ? 1 : 0,
        sumOf(channel, epoch, firstSeq),
        key,
      );
    });
  }

  addType(channel: string, token: bigint, schema: Uint8Array): void {
    this.#use(() => this.#statements.type.run(channel, String(token), schema));
  }

  append(channel: string, run: LoggedRun): undefined {
    const { frame, at } = run;
    const { seq, count } = frame;
    const columns = [channel, seq, at, storedSource(run), frame.raw(), seq + count] as const;
    this.#use(() => this.#statements.run.run(...columns, sumOf(...columns)));
  }

  trim(channel: string, firstSeq: number, but: ReadonlySet<number>): void {
    this.#use(() => this.#statements.trim.run(channel, firstSeq, JSON.stringify([...but])));
  }

  forget(channel: string): void {
    this.#use(() => {
      for (const table of ["runs", "epochs", "types"])
        this.#file.database.prepare(`DELETE FROM ${table} WHERE channel = ?`).run(channel);
    });
  }

  leave(): void {}

  settled(): undefined {}

  close(): void {
    this.#try(() => this.#file.database.close());
  }

  #use(use: () => void): void {
    if (this.#failed) return;
    this.#try(() => {
      try {
        use();
      } catch (error) {
        if (!this.#file.mend(error)) throw error;
        this.#statements = prepare(this.#file.database);
        this.#writeIdentity();
        use();
      }
    });
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

function prepare(database: DatabaseSync): Record<"run" | "epoch" | "type" | "trim", StatementSync> {
  return {
    run: database.prepare("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)"),
    epoch: database.prepare(`
      INSERT OR REPLACE INTO epochs
      VALUES (?1, ?, ?, ?, ?, ?, (SELECT coalesce(max(ordinal), 0) + 1 FROM epochs WHERE channel = ?1), ?, ?)
    `),
    // A stored type may have become unreadable.
    type: database.prepare("INSERT OR REPLACE INTO types VALUES (?, ?, ?)"),
    trim: database.prepare(
      "DELETE FROM runs WHERE channel = ? AND seq < ? AND seq NOT IN (SELECT value FROM json_each(?))",
    ),
  };
}

/** SQLite knows no infinity. */
function storedBound(bound: number): number | null {
  return Number.isFinite(bound) ? bound : null;
}
