import type { DatabaseSync, SQLInputValue } from "node:sqlite";

type SalvagedRow = Record<string, SQLInputValue>;

/** Order columns of a channel's rows, by table. */
const KEYS = { epochs: ["first_seq", "epoch"], runs: ["seq"], types: ["token"] };

type Table = keyof typeof KEYS;

/**
 * Copies the readable rows of a damaged file. Rows are read in their physical order, and then by channel, each time from both ends: only rows at the
 * damaged place are lost.
 *
 * @param open opens the damaged file, which may fail
 * @returns number of rows in the new file
 */
export function salvage(open: () => DatabaseSync, to: DatabaseSync): number {
  let from: DatabaseSync | undefined;
  let rows = 0;
  to.exec("BEGIN");
  try {
    from = open();
    visit(from, "SELECT name, value FROM gateway", [], ({ name, value }) =>
      to.prepare("INSERT OR IGNORE INTO gateway VALUES (?, ?)").run(name as string, value as string),
    );
    for (const table of Object.keys(KEYS) as Table[]) rows += copy(from, to, table);
    for (const channel of channelsIn(from))
      for (const table of Object.keys(KEYS) as Table[]) rows += copy(from, to, table, channel);
  } catch {
    // No more can be read.
  }
  markLost(to);
  to.exec("COMMIT");
  try {
    from?.close();
  } catch {
    // Nothing more is wanted of it.
  }
  return rows;
}

function channelsIn(from: DatabaseSync): Set<SQLInputValue> {
  const channels = new Set<SQLInputValue>();
  for (const table of Object.keys(KEYS))
    for (const order of ["ASC", "DESC"])
      visit(from, `SELECT DISTINCT channel FROM ${table} ORDER BY channel ${order}`, [], row =>
        channels.add(row.channel as SQLInputValue),
      );
  return channels;
}

/** @param channel the one whose rows are copied; default: all */
function copy(from: DatabaseSync, to: DatabaseSync, table: Table, channel?: SQLInputValue): number {
  let rows = 0;
  const insert = (row: SalvagedRow): void => {
    const columns = Object.keys(row);
    const places = columns.map(() => "?").join(", ");
    const into = to.prepare(`INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
    rows += Number(into.run(...Object.values(row)).changes);
  };
  const [where, values] = channel === undefined ? ["", []] : ["WHERE channel = ?", [channel]];
  for (const order of ["ASC", "DESC"]) {
    const keys = ["channel", ...KEYS[table]].map(key => `${key} ${order}`).join(", ");
    if (visit(from, `SELECT * FROM ${table} ${where} ORDER BY ${keys}`, values, insert)) break;
  }
  return rows;
}

/**
 * The number of events lost behind each channel's newest row is unknown: an unreadable row stands for them, and another one for the epochs of a
 * channel without any.
 */
function markLost(to: DatabaseSync): void {
  to.exec(`
    INSERT INTO epochs (channel, epoch, first_seq, latest, sum)
      SELECT channel, 0, 1, 0, -1 FROM runs GROUP BY channel HAVING channel NOT IN (SELECT channel FROM epochs);
    INSERT OR IGNORE INTO runs (channel, seq, at, source, frame, sum) SELECT channel, max(
      coalesce((SELECT max(max(coalesce(next_seq, 0), seq + 1)) FROM runs WHERE runs.channel = epochs.channel), 1),
      max(first_seq)
    ), 0, '0', x'', 0 FROM epochs GROUP BY channel
  `);
}

/** Reads rows up to the first unreadable one. @returns whether all were read */
function visit(
  from: DatabaseSync,
  query: string,
  values: SQLInputValue[],
  take: (row: SalvagedRow) => void,
): boolean {
  try {
    const statement = from.prepare(query);
    // A damaged number may be greater than a number of JavaScript's.
    statement.setReadBigInts(true);
    for (const row of statement.iterate(...values)) take(row as SalvagedRow);
    return true;
  } catch {
    return false;
  }
}
