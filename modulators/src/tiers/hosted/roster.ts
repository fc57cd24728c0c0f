import type { HostedModulator } from "./installation.ts";

const NOBODY: readonly HostedModulator[] = [];

/** The modulators of one host by their derived channels, in the order in which the host runs them, and those being removed. */
export class Roster {
  readonly #installations = new Map<number, HostedModulator>();
  /** Modulators by their input channel: looked up for each run. */
  readonly #fed = new Map<number, readonly HostedModulator[]>();
  /** Modulators whose removal the host has not confirmed, oldest first. */
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

  /** Modulators with this input channel. */
  fedWith(channel: number): readonly HostedModulator[] {
    return this.#fed.get(channel) ?? NOBODY;
  }

  /** Whether any of the modulators may read the view or use the service of this name. */
  mayNeed(name: string): boolean {
    for (const installation of this.#installations.values()) if (installation.mayNeed(name)) return true;
    return false;
  }

  /** Adds it behind all others. */
  add(installation: HostedModulator): void {
    this.delete(installation.derived);
    this.#installations.set(installation.derived, installation);
    const { channel } = installation.request;
    this.#fed.set(channel, [...this.fedWith(channel), installation]);
  }

  delete(derived: number): void {
    const installation = this.#installations.get(derived);
    if (installation === undefined) return;
    this.#installations.delete(derived);
    const { channel } = installation.request;
    const others = this.fedWith(channel).filter(other => other !== installation);
    if (others.length > 0) this.#fed.set(channel, others);
    else this.#fed.delete(channel);
  }

  /** Empties it. @returns those that were in it */
  clear(): HostedModulator[] {
    const all = [...this.#installations.values()];
    this.#installations.clear();
    this.#fed.clear();
    return all;
  }

  /** The host is asked to remove it: its output is discarded from now on, but its calls count. */
  leave(installation: HostedModulator): void {
    const { derived } = installation;
    this.#leaving.set(derived, [...(this.#leaving.get(derived) ?? []), installation]);
  }

  /** The modulator of this derived channel whose removal the host confirms next. */
  leaving(derived: number): HostedModulator | undefined {
    return this.#leaving.get(derived)?.[0];
  }

  allLeaving(derived: number): readonly HostedModulator[] {
    return this.#leaving.get(derived) ?? NOBODY;
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

  /** The host that was asked has ended. */
  allLeft(): void {
    this.#leaving.clear();
  }
}
