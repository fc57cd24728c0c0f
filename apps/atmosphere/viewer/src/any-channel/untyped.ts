/** Rows of an event without a type: of JSON one for each value, of other text the text, otherwise the bytes. */
import type { Row } from "./channel-feed.ts";

/** Longest event that is read as text, in bytes. */
const LONGEST_TEXT = 64 * 1024;
const MOST_ROWS = 200;
const DEEPEST = 3;
const CONTROL = /[^\P{Cc}\t\r\n]/u;
const decoder = new TextDecoder("utf-8", { fatal: true });

export function rowsOfUntyped(bytes: Uint8Array): Row[] {
  const text = textOf(bytes);
  if (text === undefined) return [{ path: "bytes", written: "bytes", value: bytes, name: undefined }];
  try {
    const rows: Row[] = [];
    addRows(rows, JSON.parse(text), "", 0);
    return rows;
  } catch {
    return [{ path: "text", written: "text", value: text, name: undefined }];
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > LONGEST_TEXT) return undefined;
  try {
    const text = decoder.decode(bytes);
    return CONTROL.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function addRows(rows: Row[], value: unknown, path: string, depth: number): void {
  if (rows.length === MOST_ROWS) return;
  if (typeof value === "object" && value !== null && !Array.isArray(value) && depth < DEEPEST)
    for (const [name, inner] of Object.entries(value))
      addRows(rows, inner, path === "" ? name : `${path}.${name}`, depth + 1);
  else rows.push({ path: path === "" ? "value" : path, written: "JSON", value, name: undefined });
}
