/** Text that has a character for each byte. */
const bytewise = new TextDecoder("latin1");

/**
 * Schemas that the gateway has sent, each once, in order. They are compared by their bytes, not by their tokens, so that a page that only
 * subscribes computes no hashes in its concentrator.
 */
export class ToldSchemas {
  readonly #byBytes = new Map<string, Uint8Array>();
  readonly #all: Uint8Array[] = [];

  get all(): readonly Uint8Array[] {
    return this.#all;
  }

  /** @returns a copy, for the memory of a message is reused */
  add(schema: Uint8Array): Uint8Array {
    const bytes = bytewise.decode(schema);
    let kept = this.#byBytes.get(bytes);
    if (kept === undefined) {
      kept = schema.slice();
      this.#byBytes.set(bytes, kept);
      this.#all.push(kept);
    }
    return kept;
  }
}
