import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isIdentity, JechoError } from "@jecho/shared";
import { freshIdentity } from "../cluster/identities.ts";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import { HistoryFile } from "./history-file.ts";
import type { HistoryStore } from "./store.ts";
import { readStored, type Stored, storedSource, sumOf } from "./stored.ts";

const PART = /^\d+ of \d+$/;

/** Which of how many gateways that share channels has a file. @param index from 0 on */
export function partOf(index: number, count: number): string {
  return `${index + 1} of ${count}`;
}

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
  readonly #part: string;
  #statements: ReturnType<typeof prepare>;
  #failed = false;
  #identity = "";

  private constructor(file: HistoryFile, log: (line: string) => void, part: string) {
    this.#file = file;
    this.#log = log;
    this.#part = part;
    this.#statements = prepare(file.database);
  }

  /**
   * @param part which of how many gateways that share channels has the file
   * @throws JechoError `HISTORY_IN_USE` where another gateway has the file, `ARGUMENT_INVALID` where it cannot be used, or is another part's
   */
  static async open(path: string, log: (line: string) => void, part = partOf(0, 1)): Promise<FileStore> {
    const file = await HistoryFile.open(path, log);
    const store = new FileStore(file, log, part);
    let others: string | undefined;
    store.#use(() => {
      const isUsed = file.database.prepare("SELECT 1 FROM epochs").get() !== undefined;
      const known = isUsed ? String(store.#known("part")) : part;
      // What is damaged says nothing.
      if (known !== part && PART.test(known)) others = known;
      else store.#sign();
    });
    if (others === undefined) return store;
    store.close();
    throw new JechoError(
      "ARGUMENT_INVALID",
      `the history's file ${path} has the channels of gateway ${others}, and this is gateway ${part}: start as many as before, or give them other files`,
    );
  }

  /** Identity of the gateways that have this file, one after the other. */
  get identity(): string {
    if (this.#identity !== "") return this.#identity;
    this.#identity = freshIdentity();
    this.#use(() => {
      const known = this.#known("identity");
      if (isIdentity(String(known))) this.#identity = String(known);
      else this.#sign();
    });
    return this.#identity;
  }

  #known(name: string): unknown {
    return this.#file.database.prepare("SELECT value FROM gateway WHERE name = ?").get(name)?.value;
  }

  /** Writes whose file it is. */
  #sign(): void {
    const write = this.#file.database.prepare("INSERT OR REPLACE INTO gateway VALUES (?, ?)");
    write.run("part", this.#part);
    if (this.#identity !== "") write.run("identity", this.#identity);
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
        this.#sign();
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
