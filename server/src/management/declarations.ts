import type { Type } from "@jecho/shared";
import { LimitReached } from "../gateway/limit-reached.ts";
import { keptBytesOf, type TypeKeeper, type TypeRegistry } from "./types.ts";

/**
 * The types that processes declare of one modulator when they install it. What one declares takes nothing from others.
 */
export class Declarations {
  readonly #registry: TypeRegistry;
  readonly #most: number;
  readonly #made = new Map<bigint, Type>();
  readonly #read = new Map<bigint, Type>();
  /** Bytes counted for each of them, for the process that was first to declare it. */
  readonly #kept: (readonly [by: TypeKeeper, bytes: number])[] = [];
  #passesOn = false;
  #takesAny = false;

  /** @param most types that may be declared, of each kind */
  constructor(registry: TypeRegistry, most: number) {
    this.#registry = registry;
    this.#most = most;
  }

  /** Types that the modulator makes, by token. */
  get made(): ReadonlyMap<bigint, Type> {
    return this.#made;
  }

  /** Types that it was written for, by token. */
  get read(): ReadonlyMap<bigint, Type> {
    return this.#read;
  }

  /** Whether the modulator's output may have the types of its input. */
  get passesOn(): boolean {
    return this.#passesOn || this.#made.size === 0;
  }

  /** Whether the modulator takes events of any type. */
  get takesAny(): boolean {
    return this.#takesAny || this.#read.size === 0;
  }

  /**
   * A process declares the type that the modulator makes, without one that of what it takes; and which one it was written for, without one
   * whatever comes.
   *
   * @param by the process, on whose account types are kept that no other one has declared
   * @returns the type that it makes there, and which types are new
   * @throws JechoError `TYPE_INVALID`, `OVERLOADED`
   */
  add(schema: Uint8Array, reads: Uint8Array, by: TypeKeeper): { made: Type | undefined; fresh: Type[] } {
    const fresh: Type[] = [];
    const read = this.#enter(this.#read, reads, fresh, by);
    const made = this.#enter(this.#made, schema, fresh, by);
    this.#takesAny ||= read === undefined;
    this.#passesOn ||= made === undefined;
    return { made, fresh };
  }

  release(): void {
    for (const types of [this.#made, this.#read])
      for (const type of types.values()) this.#registry.release(type);
    for (const [by, bytes] of this.#kept) by.keep(-bytes);
  }

  #enter(types: Map<bigint, Type>, schema: Uint8Array, fresh: Type[], by: TypeKeeper): Type | undefined {
    if (schema.byteLength === 0) return undefined;
    const type = this.#registry.typeOf(schema);
    if (types.has(type.token)) return type;
    if (types.size >= this.#most)
      throw new LimitReached(
        "typesPerChannel",
        "OVERLOADED",
        `of a modulator at most ${this.#most} types are declared`,
      );
    const bytes = keptBytesOf(type);
    by.checkKeeping(bytes);
    by.keep(bytes);
    this.#kept.push([by, bytes]);
    types.set(type.token, type);
    this.#registry.hold(type);
    fresh.push(type);
    return type;
  }
}
