import type { FieldInfo } from "@jecho/client";

const SHORT_LIST = 6;
const SHORT_TEXT = 60;

/** The field of this name, `INNER.FIELD` of a nested table's; undefined where there is none. */
export function pick(event: unknown, name: string): { readonly value: unknown } | undefined {
  let value = event;
  for (const word of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, word)) return undefined;
    value = (value as Record<string, unknown>)[word];
  }
  return { value };
}

/** An event's fields as short texts, for people. */
export function plain(event: unknown, fields: readonly FieldInfo[]): [name: string, value: string][] {
  if (event instanceof Uint8Array) return [["bytes", bytesText(event)]];
  return Object.entries(event as object).map(([name, value]) => [
    name,
    short(
      value,
      fields.find(field => field.name === name),
    ),
  ]);
}

/** One value as a short text. */
export function short(value: unknown, field?: FieldInfo): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number" || typeof value === "bigint")
    return field?.names?.get(BigInt(Math.trunc(Number(value)))) ?? shortNumber(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return listText(value as unknown as ArrayLike<unknown>, field);
  const inner = Object.entries(value).map(
    ([name, one]) =>
      `${name} ${short(
        one,
        field?.fields.find(candidate => candidate.name === name),
      )}`,
  );
  return `{${inner.join(", ")}}`;
}

/** Four digits are enough to look at; whole numbers stay whole. */
export function shortNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value);
}

function listText(list: ArrayLike<unknown>, field: FieldInfo | undefined): string {
  if (list.length <= SHORT_LIST) return `[${Array.from(list, one => short(one, field)).join(", ")}]`;
  const first = list[0];
  if (typeof first !== "number" && typeof first !== "bigint")
    return `[${short(first, field)}, … ${list.length} in all]`;
  const { min, max, mean } = summarise(list as ArrayLike<number | bigint>);
  return `${list.length} × ${shortNumber(min)} … ${shortNumber(max)}, mean ${shortNumber(mean)}`;
}

function summarise(list: ArrayLike<number | bigint>): { min: number; max: number; mean: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (let i = 0; i < list.length; i++) {
    const value = Number(list[i]);
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
  }
  return { min, max, mean: sum / list.length };
}

function bytesText(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, 16), byte => byte.toString(16).padStart(2, "0")).join(" ");
  return bytes.length <= 16 ? `${bytes.length}: ${shown}` : `${bytes.length}: ${shown} …`;
}

/** Quotes a text: what others wrote must not steer the terminal. */
function quoted(text: string): string {
  return harmless(JSON.stringify(text.length > SHORT_TEXT ? `${text.slice(0, SHORT_TEXT)}…` : text));
}

function harmless(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** One line of JSON with everything in it. Integers that a number cannot hold are texts; what is no number is null. */
export function toJson(value: unknown): string {
  return harmless(
    JSON.stringify(value, (_, one: unknown) => {
      if (typeof one === "bigint") return Number.isSafeInteger(Number(one)) ? Number(one) : String(one);
      if (ArrayBuffer.isView(one)) return Array.from(one as unknown as ArrayLike<unknown>);
      return one;
    }),
  );
}
