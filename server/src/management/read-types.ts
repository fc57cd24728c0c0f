import type { Type } from "@jecho/shared";
import { Few, tokenOf } from "@jecho/shared/internal";
import { isReadable } from "./types.ts";

/** Most types by which the consumers of a channel read, for it to be known whether one of them reads what is written. */
const MOST_COMPARED = 64;

interface ReadType {
  readonly type: Type;
  /** Written types that cannot be read by it. */
  readonly unreadable: WeakSet<Type>;
  /** Number of consumers that read by the type. */
  consumers: number;
}

/** The types by which one channel's consumers read, and the written types that none of them can read. */
export class ReadTypes {
  readonly #read = new Few<bigint, ReadType>();
  /** Consumers that have a type. */
  #typed = 0;
  readonly #unread = new Set<bigint>();
  #newest: Type | undefined;

  /** The type with this schema, if one of them reads by it. */
  find(schema: Uint8Array): Type | undefined {
    // Thousands that return at once are mostly one program: comparing bytes is faster than computing a token.
    if (this.#newest !== undefined && Buffer.compare(this.#newest.schema, schema) === 0) return this.#newest;
    return this.#read.get(tokenOf(schema))?.type;
  }

  enter(type: Type): void {
    this.#typed++;
    this.#newest = type;
    const known = this.#read.get(type.token);
    if (known === undefined) this.#read.set(type.token, { type, unreadable: new WeakSet(), consumers: 1 });
    else known.consumers++;
  }

  leave({ token }: Type): void {
    this.#typed--;
    const known = this.#read.get(token);
    if (known !== undefined && --known.consumers === 0) this.#read.delete(token);
  }

  /**
   * Looks again whether anybody can read a type.
   *
   * @param consumers number of all consumers: those without a type can read any
   * @returns "unread" where none can, "newly" where that is new, "read" where one can, none is there, or they read by too many types
   */
  review(written: Type, consumers: number): "read" | "unread" | "newly" {
    const { token } = written;
    if (!this.#isUnread(written, consumers)) {
      this.#unread.delete(token);
      return "read";
    }
    if (this.#unread.has(token)) return "unread";
    this.#unread.add(token);
    return "newly";
  }

  #isUnread(written: Type, consumers: number): boolean {
    if (consumers === 0 || consumers > this.#typed || this.#read.size > MOST_COMPARED) return false;
    for (const { type, unreadable } of this.#read.values()) {
      if (unreadable.has(written)) continue;
      if (isReadable(written, type)) return false;
      unreadable.add(written);
    }
    return true;
  }
}
