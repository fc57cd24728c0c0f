import type { DatabaseSync, SQLInputValue } from "node:sqlite";

type SalvagedRow = Record<string, SQLInputValue>;

/** Columns that the rows of a channel are ordered by, by table. */
const KEYS = { epochs: ["first_seq", "epoch"], runs: ["seq"], types: ["token"] };

/**
 * Copies the rows that can be read of a damaged file. Each channel's are read from both ends, so that only those are lost that lie where
 * the damage is.
 *
 * @param open opens the damaged file, which may fail
 * @returns how many rows there are in the new one
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
    for (const channel of channelsIn(from))
      for (const table of Object.keys(KEYS) as (keyof typeof KEYS)[]) rows += copy(from, to, table, channel);
  } catch {
    // What is there by now is all that can be had.
  }
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

function copy(
  from: DatabaseSync,
  to: DatabaseSync,
  table: keyof typeof KEYS,
  channel: SQLInputValue,
): number {
  let rows = 0;
  const insert = (row: SalvagedRow): void => {
    const columns = Object.keys(row);
    const places = columns.map(() => "?").join(", ");
    const into = to.prepare(`INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
    rows += Number(into.run(...Object.values(row)).changes);
  };
  const read = (order: string): boolean => {
    const keys = KEYS[table].map(key => `${key} ${order}`).join(", ");
    return visit(from, `SELECT * FROM ${table} WHERE channel = ? ORDER BY ${keys}`, [channel], insert);
  };
  if (read("ASC")) return rows;
  const older = rows;
  read("DESC");
  if (table === "runs" && rows === older) markLost(to, channel);
  return rows;
}

/** Nobody knows how many events are lost behind the newest that is left: a row that cannot be read stands for them. */
function markLost(to: DatabaseSync, channel: SQLInputValue): void {
  to.prepare(`
    INSERT INTO runs (channel, seq, at, source, frame, sum) SELECT ?1, max(
      coalesce((SELECT max(coalesce(next_seq, seq + 1)) FROM runs WHERE channel = ?1), 1),
      coalesce((SELECT max(first_seq) FROM epochs WHERE channel = ?1), 1)
    ), 0, '0', x'', 0
  `).run(channel);
}

/** Rows up to the first that cannot be read. @returns whether these are all */
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
