import { JechoError, type Type, typeFromSchema } from "@jecho/shared";
import { Few, tokenOf } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import { LimitReached } from "../gateway/limit-reached.ts";

/** The name server's types by token, for readers that do not know them; each is kept as long as somebody writes it. */
export class TypeRegistry {
  readonly #mostBytes: number;
  readonly #types = new Map<bigint, { readonly type: Type; uses: number }>();

  /** @param mostBytes largest schema, in bytes */
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

  /** The type with this schema, the held one where there is one. @throws JechoError `TYPE_INVALID` */
  typeOf(schema: Uint8Array): Type {
    if (schema.byteLength > this.#mostBytes)
      throw new LimitReached(
        "schemaBytes",
        "TYPE_INVALID",
        `a type's schema has at most ${this.#mostBytes} bytes`,
      );
    return this.#types.get(tokenOf(schema))?.type ?? typeFromSchema(schema);
  }

  /** Whether somebody writes a type with this token. */
  has(token: bigint): boolean {
    return this.#types.has(token);
  }

  /** @throws JechoError `TYPE_UNKNOWN` */
  find(token: bigint): Type {
    const held = this.#types.get(token);
    if (held === undefined)
      throw new JechoError("TYPE_UNKNOWN", `no type is in use under the token ${token.toString(16)}`);
    return held.type;
  }
}

/** On whose account types are kept. */
export type TypeKeeper = Pick<Connection, "checkKeeping" | "keep">;

/** Bytes counted for a type: its schema, and what is made of it. */
export function keptBytesOf({ schema }: Type): number {
  return 2 * schema.byteLength;
}

/** A type, and on whose account it is kept; undefined where an earlier gateway stored it. */
interface Written {
  readonly type: Type;
  readonly by: TypeKeeper | undefined;
}

/** The types of one channel's events: of its present producers, and of kept events. */
export class WrittenTypes {
  readonly #registry: TypeRegistry;
  readonly #present = new Few<bigint, Written>();
  readonly #past = new Few<bigint, Written>();

  readonly #most: number;

  /** @param most most types written at a time, and as many of kept events */
  constructor(registry: TypeRegistry, most: number) {
    this.#registry = registry;
    this.#most = most;
  }

  /** Tokens of what the present producers write. */
  get tokens(): bigint[] {
    return [...this.#present.keys()];
  }

  /** Types that the present producers write. */
  present(): Type[] {
    return Array.from(this.#present.values(), ({ type }) => type);
  }

  /** All types that further events may have. */
  all(): Set<Type> {
    return new Set([...this.#past.values(), ...this.#present.values()].map(({ type }) => type));
  }

  /** Whether a present producer writes it. */
  isWritten(token: bigint): boolean {
    return this.#present.has(token);
  }

  find(token: bigint): Type | undefined {
    return (this.#present.get(token) ?? this.#past.get(token))?.type;
  }

  /** Adds a producer's type. @returns false where it was known @throws JechoError `OVERLOADED` */
  add(type: Type, by: TypeKeeper): boolean {
    if (this.#present.has(type.token)) return false;
    by.checkKeeping(keptBytesOf(type));
    this.#enter(this.#present, { type, by });
    return true;
  }

  /** Adds a type of kept events, which perhaps nobody writes any more. */
  remember(type: Type, by?: TypeKeeper): void {
    if (this.#past.has(type.token)) return;
    this.#enter(this.#past, { type, by });
    for (const oldest of this.#past.values()) {
      if (this.#past.size <= this.#most) return;
      this.#past.delete(oldest.type.token);
      this.#release(oldest);
    }
  }

  /** The type's last producer has gone. @param isKept whether events of it are kept */
  leave(isKept: boolean): void {
    for (const written of this.#present.values()) {
      if (isKept) this.remember(written.type, written.by);
      this.#release(written);
    }
    this.#present.clear();
  }

  /** Forgets all types. */
  forget(): void {
    for (const written of this.#past.values()) this.#release(written);
    this.#past.clear();
  }

  #enter(types: Few<bigint, Written>, written: Written): void {
    const { type, by } = written;
    types.set(type.token, written);
    this.#registry.hold(type);
    by?.keep(keptBytesOf(type));
  }

  #release({ type, by }: Written): void {
    this.#registry.release(type);
    by?.keep(-keptBytesOf(type));
  }

  /**
   * A channel is typed or untyped for all its present producers.
   *
   * @param channel its name
   * @param producers number of present producers
   * @throws JechoError `TYPE_MISMATCH`, `OVERLOADED`
   */
  checkWriter(type: Type | undefined, channel: string, producers: number): void {
    if (type !== undefined && !this.#present.has(type.token) && this.#present.size >= this.#most)
      throw new LimitReached(
        "typesPerChannel",
        "OVERLOADED",
        `the events of a channel are of at most ${this.#most} types`,
      );
    if (producers === 0 || (type === undefined) === (this.#present.size === 0)) return;
    const kind = type === undefined ? "a typed" : "an untyped";
    throw new JechoError("TYPE_MISMATCH", `${channel} is ${kind} channel`);
  }

  /**
   * Checks that a reader's declared type matches that of one present producer. The reader is told of others when their
   * events come.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined, channel: string, producers: number, reader: Reader): void {
    if (type === undefined) return;
    checkMatch(this.present(), type, channel, reader);
    if (this.#present.size === 0 && producers > 0)
      throw new JechoError(
        "TYPE_MISMATCH",
        `${channel} is an untyped channel and the ${reader} expects ${type.name}`,
      );
  }
}

/** A reader with a type of its own. */
export type Reader = "consumer" | "modulator";

/**
 * Checks that one of these types can be read as that one, if there are any.
 *
 * @param channel where
 * @throws JechoError `TYPE_MISMATCH` naming the field, both types and both sides
 */
export function checkMatch(all: readonly Type[], read: Type, channel: string, reader: Reader): void {
  const [first] = all;
  if (first === undefined || all.some(written => isReadable(written, read))) return;
  const sides = `${channel} is written as ${first}, this ${reader} reads ${read}`;
  throw new JechoError("TYPE_MISMATCH", `${mismatchOf(first, read)?.message} (${sides})`);
}

/** Whether the written type can be read as the other. */
export function isReadable(written: Type, read: Type): boolean {
  return mismatchOf(written, read) === undefined;
}

function mismatchOf(written: Type, read: Type): Error | undefined {
  try {
    read.readerOf(written);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
