import { JechoError, Type } from "@jecho/shared";
import { tokenOf } from "@jecho/shared/internal";

/** The name server's types, by token, for readers that never saw them: each for as long as somebody writes it. */
export class TypeRegistry {
  readonly #mostBytes: number;
  readonly #types = new Map<bigint, { readonly type: Type; uses: number }>();

  /** @param mostBytes of a schema */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Keeps the type until it is released as often as it was held. */
  hold(type: Type): void {
    const held = this.#types.get(type.token);
    if (held === undefined) this.#types.set(type.token, { type, uses: 1 });
    else held.uses++;
  }

  release({ token }: Type): void {
    const held = this.#types.get(token);
    if (held !== undefined && --held.uses === 0) this.#types.delete(token);
  }

  /** The type with this schema: the one that is held, where there is one. @throws JechoError `TYPE_INVALID` */
  typeOf(schema: Uint8Array): Type {
    if (schema.byteLength > this.#mostBytes)
      throw new JechoError("TYPE_INVALID", `a type's schema has at most ${this.#mostBytes} bytes`);
    return this.#types.get(tokenOf(schema))?.type ?? Type.fromSchema(schema);
  }

  /** @throws JechoError `TYPE_UNKNOWN` */
  find(token: bigint): Type {
    const held = this.#types.get(token);
    if (held === undefined)
      throw new JechoError("TYPE_UNKNOWN", `no type is in use under the token ${token.toString(16)}`);
    return held.type;
  }
}
