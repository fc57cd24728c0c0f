import { JechoError, type Type } from "@jecho/shared";
import { Few } from "@jecho/shared/internal";
import type { TypeRegistry } from "./type-registry.ts";

/** The types of one channel's events: those that its present producers write, and those that kept events were written with. */
export class WrittenTypes {
  readonly #registry: TypeRegistry;
  readonly #present = new Few<bigint, Type>();
  readonly #past = new Few<bigint, Type>();

  readonly #most: number;

  /** @param most that may be written at a time, and as many that were */
  constructor(registry: TypeRegistry, most: number) {
    this.#registry = registry;
    this.#most = most;
  }

  /** Tokens of what the present producers write. */
  get tokens(): bigint[] {
    return [...this.#present.keys()];
  }

  /** What the present producers write. */
  present(): Iterable<Type> {
    return this.#present.values();
  }

  /** What events are written with that may come. */
  all(): Set<Type> {
    return new Set([...this.#past.values(), ...this.#present.values()]);
  }

  /** Does a present producer write it? */
  isWritten(token: bigint): boolean {
    return this.#present.has(token);
  }

  find(token: bigint): Type | undefined {
    return this.#present.get(token) ?? this.#past.get(token);
  }

  /** A producer writes it. @returns false where that is nothing new */
  add(type: Type): boolean {
    if (this.#present.has(type.token)) return false;
    this.#present.set(type.token, type);
    this.#registry.hold(type);
    return true;
  }

  /** Kept events are written with it, though nobody may write it any more. */
  remember(type: Type): void {
    if (this.#past.has(type.token)) return;
    this.#past.set(type.token, type);
    this.#registry.hold(type);
    for (const oldest of this.#past.values()) {
      if (this.#past.size <= this.#most) return;
      this.#past.delete(oldest.token);
      this.#registry.release(oldest);
    }
  }

  /** The last producer has gone. @param isKept what it wrote is kept */
  leave(isKept: boolean): void {
    for (const type of this.#present.values()) {
      if (isKept) this.remember(type);
      this.#registry.release(type);
    }
    this.#present.clear();
  }

  /** Nothing is kept any more. */
  forget(): void {
    for (const type of this.#past.values()) this.#registry.release(type);
    this.#past.clear();
  }

  /**
   * A channel is typed or untyped for all its present producers.
   *
   * @param channel its name
   * @param producers how many there are already
   * @throws JechoError `TYPE_MISMATCH`, `OVERLOADED`
   */
  checkWriter(type: Type | undefined, channel: string, producers: number): void {
    if (type !== undefined && !this.#present.has(type.token) && this.#present.size >= this.#most)
      throw new JechoError("OVERLOADED", `the events of a channel are of at most ${this.#most} types`);
    if (producers === 0 || (type === undefined) === (this.#present.size === 0)) return;
    const kind = type === undefined ? "a typed" : "an untyped";
    throw new JechoError("TYPE_MISMATCH", `${channel} is ${kind} channel`);
  }

  /**
   * Who declares a type must be able to read what one of the present producers writes: others it hears of when their events come.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined, channel: string, producers: number, reader: Reader): void {
    if (type === undefined) return;
    checkMatch([...this.#present.values()], type, channel, reader);
    if (this.#present.size === 0 && producers > 0)
      throw new JechoError(
        "TYPE_MISMATCH",
        `${channel} is an untyped channel and the ${reader} expects ${type.name}`,
      );
  }
}

/** Who reads by a type of its own. */
export type Reader = "consumer" | "modulator";

/**
 * Can any of these be read as that, if there are any?
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

/** Can this be read as that? */
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
