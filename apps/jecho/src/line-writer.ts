import { once } from "node:events";
import type { Writable } from "node:stream";

/** Writes lines no faster than they are taken. */
export class LineWriter {
  readonly #out: Writable;
  /** The widest value of each field so far: lines stand in columns. */
  readonly #widths = new Map<string, number>();
  #drained: Promise<unknown> | undefined;

  constructor(out: Writable) {
    this.#out = out;
  }

  /** Is what was written before still waiting for its reader? A write that has gone through at once, as to a file, is not. */
  get isBusy(): boolean {
    return this.#out.writableLength >= this.#out.writableHighWaterMark;
  }

  /** @returns what to wait for before the next line, where lines come faster than they are read; never rejects */
  write(line: string): Promise<unknown> | undefined {
    this.#out.write(`${line}\n`);
    if (!this.isBusy) return undefined;
    this.#drained ??= once(this.#out, "drain")
      .catch(() => {}) // Its reader has left, which the stream's own listener hears.
      .finally(() => {
        this.#drained = undefined;
      });
    return this.#drained;
  }

  /** An event's number and its fields, each as name and value. */
  writeEvent(seq: number, fields: readonly (readonly [name: string, value: string])[]): void {
    const parts = [
      this.#pad("#", String(seq)),
      ...fields.map(([name, value]) => `${name} ${this.#pad(name, value)}`),
    ];
    this.#out.write(`${parts.join("  ").trimEnd()}\n`);
  }

  #pad(name: string, value: string): string {
    const width = Math.min(48, Math.max(this.#widths.get(name) ?? 0, value.length));
    this.#widths.set(name, width);
    // Numbers stand to the right, texts to the left.
    return /^[-\d]/.test(value) ? value.padStart(width) : value.padEnd(width);
  }
}
