/** Gateways number their producers from 1; numbers from here on are free. */
const OTHER_NUMBERS = 1 << 20;
/** More sources than a process takes at once. Beyond, the oldest is forgotten. */
const MOST_REMEMBERED = 65_536;

/**
 * The environment's numbers for raw sources. They outlive connections: a modulator may still work on events of an earlier one's producers.
 */
export class SourceNumbers {
  readonly #numbers = new Map<bigint, number>();
  readonly #sources = new Map<number, bigint>();

  /** @param producer the producer's number at the present connection, which the source gets unless it is taken */
  numberOf(source: bigint, producer: number): number {
    const known = this.#numbers.get(source);
    if (known !== undefined) return known;
    let number = producer || OTHER_NUMBERS;
    while (this.#sources.has(number)) number += OTHER_NUMBERS;
    this.#numbers.set(source, number);
    this.#sources.set(number, source);
    if (this.#numbers.size > MOST_REMEMBERED) this.#forgetFirst();
    return number;
  }

  /** The raw source with this number; undefined for none. */
  sourceOf(number: number): bigint | undefined {
    return this.#sources.get(number);
  }

  #forgetFirst(): void {
    for (const [source, number] of this.#numbers) {
      this.#numbers.delete(source);
      this.#sources.delete(number);
      return;
    }
  }
}
