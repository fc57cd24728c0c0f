import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { View } from "@jecho/client";

/** Where the recording lies. */
export const RECORDING = fileURLToPath(new URL("../data/viewing-session.json", import.meta.url));

/** One message of a viewer to its modulators. */
export type ViewingChange =
  /** A view opened its subscription, or changed its modulator: to all values (no threshold) or to alarms. */
  | { readonly atMs: number; readonly view: number; readonly threshold?: number; readonly opens: View }
  /** What a view looks at has changed in these respects. */
  | { readonly atMs: number; readonly view: number; readonly changes: Partial<View> };

/** What a person did with the sample application's page, as it went over the wire. */
export interface ViewingSession {
  /** How it was made, in a sentence. */
  readonly about: string;
  readonly durationMs: number;
  readonly changes: readonly ViewingChange[];
}

export function readViewingSession(): ViewingSession {
  return JSON.parse(readFileSync(RECORDING, "utf8")) as ViewingSession;
}
