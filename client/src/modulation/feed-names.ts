/** Gateways number their channels from 1; what is beyond is free for other names. */
const OTHER_NUMBERS = 1 << 20;

/**
 * The names of what modulators here are fed with: channels, and what other modulators make. Their environment knows each by
 * a number that outlives a connection, and two names may have one number.
 */
export class FeedNames {
  readonly #numbers = new Map<string, number>();
  /** The schemas of the types that the environment was told of for each number, by token. */
  readonly #types = new Map<number, Map<bigint, Uint8Array>>();

  has(name: string): boolean {
    return this.#numbers.size > 0 && this.#numbers.has(name);
  }

  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  /** The number that the environment knows this by: the channel's first one at a gateway, unless that is taken. */
  enter(name: string, channel: number): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      const taken = new Set(this.#numbers.values());
      number = channel;
      while (taken.has(number)) number += OTHER_NUMBERS;
      this.#numbers.set(name, number);
    }
    return number;
  }

  /** Two names for what the same modulators are fed with. */
  alias(name: string, feed: string, channel: number): void {
    const number = this.#numbers.get(name) ?? this.enter(feed, channel);
    this.#numbers.set(name, number);
    this.#numbers.set(feed, number);
  }

  forget(name: string): void {
    const number = this.#numbers.get(name);
    this.#numbers.delete(name);
    // It may have another name.
    if (number !== undefined && ![...this.#numbers.values()].includes(number)) this.#types.delete(number);
  }

  /** What the environment was told of the types of what comes by this number; more may be entered. */
  typesOf(number: number): Map<bigint, Uint8Array> {
    let types = this.#types.get(number);
    if (types === undefined) {
      types = new Map();
      this.#types.set(number, types);
    }
    return types;
  }
}
