import { checkName, JechoError } from "@jecho/shared";
import { Few } from "@jecho/shared/internal";
import type { DerivedChannel } from "./derived-channel.ts";

/** The derived channels of one channel, by what they are made with, and by the names that consumers gave some of them. */
export class Derivations {
  readonly #channel: string;
  readonly #byKey = new Few<string, DerivedChannel>();
  readonly #named = new Few<string, DerivedChannel>();

  /** @param channel its name */
  constructor(channel: string) {
    this.#channel = channel;
  }

  get size(): number {
    return this.#byKey.size;
  }

  [Symbol.iterator](): Iterator<DerivedChannel> {
    return this.#byKey.values()[Symbol.iterator]();
  }

  find(key: string): DerivedChannel | undefined {
    return this.#byKey.get(key);
  }

  add(derived: DerivedChannel): void {
    this.#byKey.set(derived.key, derived);
  }

  /** @returns false where it has gone before */
  remove(derived: DerivedChannel): boolean {
    if (this.#byKey.get(derived.key) !== derived) return false;
    this.#byKey.delete(derived.key);
    for (const [name, named] of this.#named) if (named === derived) this.#named.delete(name);
    return true;
  }

  /** Those that are derived from this one. */
  behind(parent: DerivedChannel): DerivedChannel[] {
    return [...this.#byKey.values()].filter(derived => derived.parent === parent);
  }

  /** The one that somebody gave this name. */
  named(name: string): DerivedChannel | undefined {
    return this.#named.get(name);
  }

  /** Others may subscribe to it by this name as long as it exists. @throws JechoError `DERIVED_TAKEN`, `CHANNEL_NAME_INVALID` */
  name(derived: DerivedChannel, name: string): void {
    const full = checkName(`${this.#channel}#${name}`);
    if ((this.#named.get(name) ?? derived) !== derived)
      throw new JechoError("DERIVED_TAKEN", `another modulator derives ${full}`);
    this.#named.set(name, derived);
  }

  /** What a consumer names that brings its modulator to this derived channel, or to the channel itself. */
  nameUnder(parent: DerivedChannel | undefined): string {
    if (parent === undefined) return this.#channel;
    // It was brought to a name, and that stays as long as what has it.
    const [name] = [...this.#named].find(([, derived]) => derived === parent) ?? [];
    return `${this.#channel}#${name}`;
  }
}
