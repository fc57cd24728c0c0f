import { JechoError } from "@jecho/shared";
import type { Need, Rights } from "./rights.ts";

/** A connection's subject and rights, by which each of its requests is checked first. */
export class Subject {
  /** Name in its token; "" at a gateway without keys. */
  readonly name: string;
  /** Expiry of its token, by `Date.now()`. */
  readonly expiresAt: number;
  readonly #rights: Rights | undefined;

  /** @param rights undefined for all */
  constructor(name: string, rights: Rights | undefined, expiresAt: number) {
    this.name = name;
    this.expiresAt = expiresAt;
    this.#rights = rights;
  }

  may(...[right, on]: Need): boolean {
    return this.#rights?.allow(right, on) ?? true;
  }

  /** Why the subject may not; undefined where it may. */
  missing(...[right, on]: Need): JechoError | undefined {
    if (this.may(right, on)) return undefined;
    return new JechoError("RIGHT_MISSING", `${this.name} lacks the right ${right}:${on.slice(0, 600)}`);
  }

  /** @throws JechoError `RIGHT_MISSING` */
  check(...need: Need): void {
    const missing = this.missing(...need);
    if (missing !== undefined) throw missing;
  }

  /** Whether it has all rights of the other one. */
  mayAllThat(other: Subject): boolean {
    if (this.#rights === undefined) return true;
    return other.#rights !== undefined && this.#rights.include(other.#rights);
  }
}

/** The subject of everybody at a gateway without keys, and of the gateway's own process for modulators. */
export const ANYBODY = new Subject("", undefined, Number.POSITIVE_INFINITY);
