import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  renameSync,
} from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { JechoError } from "@jecho/shared";
import { salvage } from "./salvage.ts";

/** Time that a starting gateway waits for its predecessor to release the file. */
const BUSY_MS = 1000;
const SQLITE_BUSY = 5;
const SQLITE_ERROR = 1;
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** SQLite's codes for an unusable file: a header can be wrong in many ways. */
const UNUSABLE = new Set([SQLITE_ERROR, SQLITE_READONLY, SQLITE_CORRUPT, SQLITE_NOTADB]);

const OWNERS_ONLY = 0o600;
/** Endings of the names of a database's files. */
const PARTS = ["", "-wal", "-shm"];

/** The lock is the operating system's, and ends with the process that has it. */
const LOCK = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA locking_mode = EXCLUSIVE;
`;

const TABLES = {
  epochs: `
    channel TEXT NOT NULL, epoch INTEGER NOT NULL, first_seq INTEGER NOT NULL, events REAL, seconds REAL, latest INTEGER NOT NULL,
    ordinal INTEGER NOT NULL DEFAULT 0, sum INTEGER, key TEXT NOT NULL DEFAULT '', PRIMARY KEY (channel, first_seq, epoch)`,
  runs: `
    channel TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, source TEXT NOT NULL, frame BLOB NOT NULL,
    next_seq INTEGER, sum INTEGER, PRIMARY KEY (channel, seq)`,
  gateway: "name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL",
  types: "channel TEXT NOT NULL, token TEXT NOT NULL, schema BLOB NOT NULL, PRIMARY KEY (channel, token)",
};

/** The SQLite file of a history, used by one gateway at a time. A damaged file is set aside, and a new one begun. */
export class HistoryFile {
  readonly #path: string;
  readonly #Database: typeof DatabaseSync;
  readonly #log: (line: string) => void;
  database: DatabaseSync;

  private constructor(path: string, Database: typeof DatabaseSync, log: (line: string) => void) {
    this.#path = path;
    this.#Database = Database;
    this.#log = log;
    this.database = this.#open();
  }

  /** @throws JechoError `HISTORY_IN_USE` where another gateway has the file, `ARGUMENT_INVALID` where it cannot be used */
  static async open(path: string, log: (line: string) => void): Promise<HistoryFile> {
    const { DatabaseSync } = await import("node:sqlite");
    try {
      return new HistoryFile(path, DatabaseSync, log);
    } catch (error) {
      if (codeOf(error) === SQLITE_BUSY)
        throw new JechoError(
          "HISTORY_IN_USE",
          `another gateway keeps its history in ${path}: end that one, or give this one a file of its own`,
        );
      throw new JechoError("ARGUMENT_INVALID", `the history's file ${path}: ${(error as Error).message}`);
    }
  }

  #open(): DatabaseSync {
    try {
      return this.#checked(this.#prepared());
    } catch (error) {
      // A file that is no history stays where it is.
      if (!UNUSABLE.has(codeOf(error)) || !isHistory(this.#path)) throw error;
      return this.#begin((error as Error).message);
    }
  }

  /** Sets the file aside, and goes on with its readable rows in a new one, if that may mend this error. @returns whether it did */
  mend(error: unknown): boolean {
    if (![SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(error))) return false;
    try {
      this.database.close();
    } catch {
      // Nothing more is wanted of it.
    }
    this.database = this.#begin((error as Error).message);
    return true;
  }

  #prepared(): DatabaseSync {
    this.#keepPrivate();
    return prepared(new this.#Database(this.#path));
  }

  /** Checks the whole file, which takes about 0.6 s per GB: SQLite silently misses rows with a damaged key. */
  #checked(database: DatabaseSync): DatabaseSync {
    const finding = this.#findingIn(database);
    if (finding === undefined) return database;
    database.close();
    return this.#begin(finding);
  }

  #findingIn(database: DatabaseSync): string | undefined {
    try {
      const finding = database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check;
      if (finding !== "ok") return String(finding);
      // A row with a damaged name is filed under another channel.
      const strays = database.prepare("SELECT channel FROM runs EXCEPT SELECT channel FROM epochs").all();
      if (strays.length > 0) return `rows of ${strays[0]?.channel}, which has no epochs`;
      const expected = new this.#Database(":memory:");
      createTables(expected);
      const [ours, theirs] = [expected, database].map(columnsIn);
      expected.close();
      return ours === theirs ? undefined : `its tables are ${theirs}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Makes the file readable by its user alone. SQLite gives the files that it writes beside it the same permissions. */
  #keepPrivate(): void {
    closeSync(openSync(this.#path, "a", OWNERS_ONLY));
    for (const part of PARTS) {
      try {
        if (existsSync(this.#path + part)) chmodSync(this.#path + part, OWNERS_ONLY);
      } catch (error) {
        this.#log(`others may be able to read the history: ${(error as Error).message}`);
      }
    }
  }

  /** @param why the reason why the old file is unusable */
  #begin(why: string): DatabaseSync {
    const aside = freePath(this.#path);
    for (const part of PARTS) if (existsSync(this.#path + part)) renameSync(this.#path + part, aside + part);
    const database = this.#prepared();
    const rows = salvage(() => locked(new this.#Database(aside)), database);
    this.#log(
      `the history's file ${this.#path} is damaged (${why}): it is kept as ${aside}, and history goes on in a new file with the ${rows} rows that could be read; ` +
        "consumers are told what they miss",
    );
    return database;
  }
}

function locked(database: DatabaseSync): DatabaseSync {
  database.exec(LOCK);
  return database;
}

function createTables(database: DatabaseSync): void {
  for (const [table, columns] of Object.entries(TABLES))
    database.exec(`CREATE TABLE IF NOT EXISTS ${table} (${columns}) WITHOUT ROWID`);
}

/** Closes the database where preparing it fails. */
function prepared(database: DatabaseSync): DatabaseSync {
  try {
    // Writing the version shows whether the file is writable.
    locked(database).exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA user_version = 1");
    createTables(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** All tables and their columns. */
function columnsIn(database: DatabaseSync): string {
  return database
    .prepare(
      `SELECT s.name || ' (' || group_concat(c.name, ', ') || ')' AS columns
       FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' GROUP BY s.name ORDER BY s.name`,
    )
    .all()
    .map(({ columns }) => String(columns))
    .join(", ");
}

/** SQLite's primary code; 0 for errors of others. */
function codeOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** Whether the file's header shows that a gateway made it, and this one may write it. */
function isHistory(path: string): boolean {
  accessSync(path, constants.W_OK);
  const start = Buffer.alloc(64 << 10);
  const file = openSync(path, "r");
  try {
    readSync(file, start);
  } finally {
    closeSync(file);
  }
  return Object.keys(TABLES).some(table => start.includes(`CREATE TABLE ${table}`));
}

function freePath(path: string): string {
  for (let n = 1; ; n++) {
    const aside = `${path}.damaged-${n}`;
    if (!existsSync(aside)) return aside;
  }
}
