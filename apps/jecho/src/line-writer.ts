/** Writes lines, no faster than they are taken: what comes while the reader is busy is counted, not kept. */
export class LineWriter {
  readonly #out: NodeJS.WritableStream;
  /** The widest value of each field so far: lines stand in columns. */
  readonly #widths = new Map<string, number>();
  #isBusy = false;
  #skipped = 0;

  constructor(out: NodeJS.WritableStream) {
    this.#out = out;
  }

  get skipped(): number {
    return this.#skipped;
  }

  write(line: string): void {
    if (this.#isBusy) {
      this.#skipped++;
      return;
    }
    if (this.#out.write(`${line}\n`)) return;
    this.#isBusy = true;
    this.#out.once("drain", () => {
      this.#isBusy = false;
    });
  }

  /** An event's number and its fields, each as name and value. */
  writeEvent(seq: number, fields: readonly (readonly [name: string, value: string])[]): void {
    const parts = [
      this.#pad("#", String(seq)),
      ...fields.map(([name, value]) => `${name} ${this.#pad(name, value)}`),
    ];
    this.write(parts.join("  ").trimEnd());
  }

  #pad(name: string, value: string): string {
    const width = Math.min(48, Math.max(this.#widths.get(name) ?? 0, value.length));
    this.#widths.set(name, width);
    // Numbers stand to the right, texts to the left.
    return /^[-\d]/.test(value) ? value.padStart(width) : value.padEnd(width);
  }
}
