import { readFile } from "node:fs/promises";
import type { MonthlyWinds } from "./winds.ts";

const ROWS = 73;
const COLUMNS = 144;

/** Reads the observed winds at 200 hPa that ship with the application (see `data/README.md`). Node only. */
export async function readWinds(folder = new URL("../../data/", import.meta.url)): Promise<MonthlyWinds> {
  const [eastward, northward] = await Promise.all([
    readFloats(new URL("uwnd-200hpa.f32le", folder)),
    readFloats(new URL("vwnd-200hpa.f32le", folder)),
  ]);
  return { rows: ROWS, columns: COLUMNS, eastward, northward };
}

async function readFloats(file: URL): Promise<Float32Array> {
  const bytes = await readFile(file);
  const expected = 12 * ROWS * COLUMNS * 4;
  if (bytes.length !== expected) {
    throw new RangeError(`${file.pathname} has ${bytes.length} bytes where ${expected} belong`);
  }
  return Float32Array.from({ length: expected / 4 }, (_, n) => bytes.readFloatLE(4 * n));
}
