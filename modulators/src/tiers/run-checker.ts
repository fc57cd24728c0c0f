import { type Type, typeFromSchema } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import type { SchemaOf } from "./tier.ts";

/** Checks events from other processes before modulators here read them. */
export class RunChecker {
  readonly #types = new Map<bigint, Type>();

  /** See `Environment`. */
  isSound(run: EventsFrame, schemaOf: SchemaOf): boolean {
    const type = this.#typeOf(run.token, schemaOf);
    if (type === undefined) return true;
    try {
      for (let i = 0; i < run.count; i++) type.verify(run.view, run.eventStart(i), run.eventEnd(i));
      return true;
    } catch {
      return false;
    }
  }

  /** Undefined for bytes, and for an unknown type, whose events no modulator is given. */
  #typeOf(token: bigint, schemaOf: SchemaOf): Type | undefined {
    let type = this.#types.get(token);
    if (type !== undefined || token === 0n) return type;
    const schema = schemaOf(token);
    if (schema === undefined) return undefined;
    type = typeFromSchema(schema);
    this.#types.set(token, type);
    return type;
  }
}
