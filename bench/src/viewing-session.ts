import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { View } from "@jecho/client";

/** File of the recording. */
export const RECORDING = fileURLToPath(new URL("../data/viewing-session.json", import.meta.url));

/** One message of a viewer to its modulators. */
export type ViewingChange =
  /** A view opened its subscription, or changed its modulator: to all values (no threshold) or to alarms. */
  | { readonly atMs: number; readonly view: number; readonly threshold?: number; readonly opens: View }
  /** Change, in these respects, of what a view looks at. */
  | { readonly atMs: number; readonly view: number; readonly changes: Partial<View> };

/** Acts of a person with the sample application's page, as they went over the wire. */
export interface ViewingSession {
  /** How it was made, in a sentence. */
  readonly about: string;
  readonly durationMs: number;
  readonly changes: readonly ViewingChange[];
}

export function readViewingSession(): ViewingSession {
  return JSON.parse(readFileSync(RECORDING, "utf8")) as ViewingSession;
}
