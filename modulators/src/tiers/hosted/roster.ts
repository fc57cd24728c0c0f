import type { HostedModulator } from "./installation.ts";

/** The modulators of one host, by their derived channels, in the order in which the host runs them; and those on their way out. */
export class Roster {
  readonly #installations = new Map<number, HostedModulator>();
  /** Modulators whose removal the host has still to confirm, in that order. */
  readonly #leaving = new Map<number, HostedModulator[]>();

  get size(): number {
    return this.#installations.size;
  }

  get(derived: number): HostedModulator | undefined {
    return this.#installations.get(derived);
  }

  [Symbol.iterator](): Iterator<HostedModulator> {
    return this.#installations.values();
  }

  /** Modulators that are fed with this channel. */
  *fedWith(channel: number): Generator<HostedModulator> {
    for (const installation of this.#installations.values())
      if (installation.request.channel === channel) yield installation;
  }

  isFed(channel: number): boolean {
    for (const { request } of this.#installations.values()) if (request.channel === channel) return true;
    return false;
  }

  /** Whether any of them may read the view or use the service of this name. */
  mayNeed(name: string): boolean {
    for (const installation of this.#installations.values()) if (installation.mayNeed(name)) return true;
    return false;
  }

  /** Puts it behind all others. */
  add(installation: HostedModulator): void {
    this.#installations.delete(installation.derived);
    this.#installations.set(installation.derived, installation);
  }

  delete(derived: number): void {
    this.#installations.delete(derived);
  }

  /** Empties it. @returns those that were in it */
  clear(): HostedModulator[] {
    const all = [...this.#installations.values()];
    this.#installations.clear();
    return all;
  }

  /** Asks the host to remove it: output until then is of no interest, but calls count. */
  leave(installation: HostedModulator): void {
    const { derived } = installation;
    this.#leaving.set(derived, [...(this.#leaving.get(derived) ?? []), installation]);
  }

  /** The one that the host is to remove next of those that made this derived channel. */
  leaving(derived: number): HostedModulator | undefined {
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
