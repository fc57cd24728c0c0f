import { Type } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";

/** Checks the events that come from other processes for modulators here, which read what they are given. */
export class RunChecker {
  readonly #schemaOf: (token: bigint) => Uint8Array | undefined;
  readonly #types = new Map<bigint, Type>();

  /** @param schemaOf the schema of the type with this token; undefined where nobody has told of it */
  constructor(schemaOf: (token: bigint) => Uint8Array | undefined) {
    this.#schemaOf = schemaOf;
  }

  /** Can all events of this run be read without harm? No honest producer raises one that cannot. */
  isSound(run: EventsFrame): boolean {
    const type = this.#typeOf(run.token);
    if (type === undefined) return true;
    try {
      for (let i = 0; i < run.count; i++) type.verify(run.view, run.eventStart(i), run.eventEnd(i));
      return true;
    } catch {
      return false;
    }
  }

  /** Undefined for bytes, and for a type that is not known here: no modulator is given events of that. */
  #typeOf(token: bigint): Type | undefined {
    let type = this.#types.get(token);
    if (type !== undefined || token === 0n) return type;
    const schema = this.#schemaOf(token);
    if (schema === undefined) return undefined;
    type = Type.fromSchema(schema);
    this.#types.set(token, type);
    return type;
  }
}
