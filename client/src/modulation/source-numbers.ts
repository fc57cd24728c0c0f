/** Gateways number their producers from 1; what is beyond is free for other numbers. */
const OTHER_NUMBERS = 1 << 20;
/** More sources than a process takes at once. The one that was entered first is forgotten beyond. */
const MOST_REMEMBERED = 65_536;

/**
 * The numbers by which the modulators' environment knows the raw sources of its input. They outlive connections: a modulator may be at events that came
 * under a producer's number which is another producer's by the time that its output is there.
 */
export class SourceNumbers {
  readonly #numbers = new Map<bigint, number>();
  readonly #sources = new Map<number, bigint>();

  /** @param producer the producer's number at the present connection, which the source gets unless another one has it */
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

  /** The raw source with this number; undefined for what is of none. */
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
