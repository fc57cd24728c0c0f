import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import type { MonthlyWinds } from "./winds.ts";

const ROWS = 73;
const COLUMNS = 144;

/** Reads the observed winds at 200 hPa that ship with the application (see `data/README.md`). Node only. */
export async function readWinds(folder = new URL("../../data/", import.meta.url)): Promise<MonthlyWinds> {
  const [eastward, northward] = await Promise.all([
    readTenths(new URL("uwnd-200hpa.i16le.gz", folder)),
    readTenths(new URL("vwnd-200hpa.i16le.gz", folder)),
  ]);
  return { rows: ROWS, columns: COLUMNS, eastward, northward };
}

async function readTenths(file: URL): Promise<Float32Array> {
  const bytes = gunzipSync(await readFile(file));
  const expected = 12 * ROWS * COLUMNS * 2;
  if (bytes.length !== expected) {
    throw new RangeError(`${file.pathname} has ${bytes.length} bytes where ${expected} belong`);
  }
  return Float32Array.from({ length: expected / 2 }, (_, n) => bytes.readInt16LE(2 * n) / 10);
}
