import type { EventsFrame } from "@jecho/shared/internal";
import { typeWith } from "../running/known-types.ts";
import type { SchemaOf } from "./tier.ts";

/** Checks events from other processes before modulators here read them: see `Environment`. */
export function areSound(run: EventsFrame, schemaOf: SchemaOf): boolean {
  const type = typeWith(run.token, schemaOf);
  // No modulator is given events of an unknown type.
  if (type === undefined) return true;
  try {
    for (let i = 0; i < run.count; i++) type.verify(run.view, run.eventStart(i), run.eventEnd(i));
    return true;
  } catch {
    return false;
  }
}
