/** Numbers and lists of them, short. */

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** Five digits are enough to look at; whole numbers stay whole. */
export function shortNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : String(value);
}

/** Is this a list of numbers, to be drawn? */
export function numbersOf(value: unknown): ArrayLike<number> | undefined {
  if (!ArrayBuffer.isView(value) || value instanceof DataView) return undefined;
  const list = value as unknown as ArrayLike<number | bigint>;
  return typeof list[0] === "bigint" ? Array.from(list, Number) : (list as ArrayLike<number>);
}

/** The range of what is a number in the list; undefined where nothing is. */
export function rangeOf(list: ArrayLike<number>): Range | undefined {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < list.length; i++) {
    const value = list[i] as number;
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return most >= least ? { least, most } : undefined;
}

/** One value in a cell of the table. */
export function shortValue(value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number" || typeof value === "bigint") return shortNumber(value);
  if (typeof value === "string") return value === "" ? "(empty)" : value;
  if (typeof value === "boolean") return String(value);
  const list = numbersOf(value);
  if (list !== undefined) {
    const range = rangeOf(list);
    if (range === undefined) return `${list.length} numbers`;
    return `${list.length} numbers, ${shortNumber(range.least)} to ${shortNumber(range.most)}`;
  }
  if (!Array.isArray(value)) return JSON.stringify(value);
  if (value.length === 0) return "none";
  const shown = value.slice(0, 3).map(one => (typeof one === "object" ? JSON.stringify(one) : String(one)));
  return `${shown.join(", ")}${value.length > 3 ? `, … ${value.length} in all` : ""}`;
}
