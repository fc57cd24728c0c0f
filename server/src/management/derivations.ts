import { checkName, JechoError } from "@jecho/shared";
import { Few, type Modulator } from "@jecho/shared/internal";
import { LimitReached } from "../gateway/limit-reached.ts";

/** A derivation: a channel that is told apart by its modulator and its parent. */
interface MadeBy {
  readonly channel: { readonly number: number };
  readonly modulator: Modulator;
  /** The parent channel; undefined for the channel itself. */
  readonly parent: MadeBy | undefined;
}

/** The text that is equal for equal modulators of one source: their keys, and their capabilities. The key is the consumer's to choose. */
export function likenessOf({ capabilities, key, parameters }: Modulator): string {
  const may = capabilities.length === 0 ? "" : JSON.stringify([...capabilities].sort());
  return key === "" ? `${may}=${parameters}` : `${may}:${key}`;
}

/** The derived channels of one channel, by what they are made with, and by the names that consumers gave some of them. */
export class Derivations<D extends MadeBy> {
  readonly #channel: string;
  readonly #all = new Few<number, D>();
  /**
   * Derived channels by the sources of their modulators, and by what else makes those equal, behind the number of the
   * channel that they run on.
   */
  readonly #bySource = new Few<string, Few<string, D>>();
  readonly #named = new Few<string, D>();

  readonly #mostNames: number;

  /** @param channel its name @param mostNames that may be given */
  constructor(channel: string, mostNames: number) {
    this.#channel = channel;
    this.#mostNames = mostNames;
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<D> {
    return this.#all.values()[Symbol.iterator]();
  }

  /** The one whose modulator is equal to this, on the channel itself or on a derived one. */
  find(modulator: Modulator, parent: D | undefined): D | undefined {
    return this.#bySource.get(modulator.source)?.get(placeOf(modulator, parent));
  }

  add(derived: D): void {
    const { channel, modulator, parent } = derived;
    this.#all.set(channel.number, derived);
    const alike = this.#bySource.get(modulator.source) ?? new Few();
    alike.set(placeOf(modulator, parent), derived);
    this.#bySource.set(modulator.source, alike);
  }

  /** @returns false where it has gone before */
  remove(derived: D): boolean {
    const { channel, modulator, parent } = derived;
    if (!this.#all.delete(channel.number)) return false;
    const alike = this.#bySource.get(modulator.source);
    alike?.delete(placeOf(modulator, parent));
    if (alike?.size === 0) this.#bySource.delete(modulator.source);
    for (const [name, named] of this.#named) if (named === derived) this.#named.delete(name);
    return true;
  }

  /** The one that somebody gave this name. */
  named(name: string): D | undefined {
    return this.#named.get(name);
  }

  /** The names that somebody gave this one. */
  namesOf(derived: D): string[] {
    return [...this.#named].filter(([, named]) => named === derived).map(([name]) => name);
  }

  /** Names a derived channel for others' subscriptions. @throws JechoError `DERIVED_TAKEN`, `CHANNEL_NAME_INVALID`, `OVERLOADED` */
  name(derived: D, name: string): void {
    const full = checkName(`${this.#channel}#${name}`);
    if ((this.#named.get(name) ?? derived) !== derived)
      throw new JechoError("DERIVED_TAKEN", `another modulator derives ${full}`);
    if (!this.#named.has(name) && this.#named.size >= this.#mostNames)
      throw new LimitReached(
        "namesPerChannel",
        "OVERLOADED",
        `what is derived of a channel has at most ${this.#mostNames} names`,
      );
    this.#named.set(name, derived);
  }

  /** The channel name by which a consumer brings its modulator to this derived channel, or to the channel itself. */
  nameUnder(parent: D | undefined): string {
    if (parent === undefined) return this.#channel;
    // It was brought to a name, and that stays as long as what has it.
    const [name] = [...this.#named].find(([, derived]) => derived === parent) ?? [];
    return `${this.#channel}#${name}`;
  }
}

/** Most are on the channel itself, and equal by their parameters: JSON, which begins with no "#", unless somebody wants to pass for another. */
function placeOf(modulator: Modulator, parent: MadeBy | undefined): string {
  const { capabilities, key, parameters } = modulator;
  const isUsual = parent === undefined && key === "" && capabilities.length === 0;
  if (isUsual && !parameters.startsWith("#")) return parameters;
  return `#${parent?.channel.number ?? ""}${likenessOf(modulator)}`;
}
