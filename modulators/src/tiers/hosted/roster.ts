import type { Installation } from "./installation.ts";

/** The modulators of one host, by their derived channels, in the order in which the host runs them; and those on their way out. */
export class Roster {
  readonly #installations = new Map<number, Installation>();
  /** Those of which the host has still to confirm that they are removed, in that order. */
  readonly #leaving = new Map<number, Installation[]>();

  get size(): number {
    return this.#installations.size;
  }

  get(derived: number): Installation | undefined {
    return this.#installations.get(derived);
  }

  [Symbol.iterator](): Iterator<Installation> {
    return this.#installations.values();
  }

  /** Those that are fed with this channel. */
  *fedWith(channel: number): Generator<Installation> {
    for (const installation of this.#installations.values())
      if (installation.request.channel === channel) yield installation;
  }

  isFed(channel: number): boolean {
    for (const { request } of this.#installations.values()) if (request.channel === channel) return true;
    return false;
  }

  /** May any of them read the view or use the service of this name? */
  mayNeed(name: string): boolean {
    for (const installation of this.#installations.values()) if (installation.mayNeed(name)) return true;
    return false;
  }

  /** Puts it behind all others. */
  add(installation: Installation): void {
    this.#installations.delete(installation.derived);
    this.#installations.set(installation.derived, installation);
  }

  delete(derived: number): void {
    this.#installations.delete(derived);
  }

  /** Empties it. @returns those that were in it */
  clear(): Installation[] {
    const all = [...this.#installations.values()];
    this.#installations.clear();
    return all;
  }

  /** The host is asked to remove it: what it makes until then is of no interest, but what it calls counts. */
  leave(installation: Installation): void {
    const { derived } = installation;
    this.#leaving.set(derived, [...(this.#leaving.get(derived) ?? []), installation]);
  }

  /** The one that the host is to remove next of those that made this derived channel. */
  leaving(derived: number): Installation | undefined {
    return this.#leaving.get(derived)?.[0];
  }

  isLeaving(derived: number): boolean {
    return this.#leaving.has(derived);
  }

  /** The host has removed it. */
  left(derived: number): void {
    const left = (this.#leaving.get(derived) ?? []).slice(1);
    if (left.length > 0) this.#leaving.set(derived, left);
    else this.#leaving.delete(derived);
  }

  /** The host that was asked is no more. */
  allLeft(): void {
    this.#leaving.clear();
  }
}
