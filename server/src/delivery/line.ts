import type { EventsFrame } from "@jecho/shared/internal";

/** A run in memory of its own, or a control message that keeps its place among the runs. */
export class Item {
  readonly run: EventsFrame | undefined;
  readonly bytes: number;
  /** Of a run of one event of which the newest with this key is wanted. */
  readonly key: string | undefined;
  readonly #control: Uint8Array | undefined;
  before: Item | undefined;
  behind: Item | undefined;

  constructor(content: EventsFrame | Uint8Array, key?: string) {
    if (content instanceof Uint8Array) {
      this.#control = content;
      this.bytes = content.byteLength;
    } else {
      this.run = content;
      this.bytes = content.end - content.start;
    }
    this.key = key;
  }

  /** What goes out for it. */
  get frames(): Uint8Array {
    return this.#control ?? (this.run as EventsFrame).raw();
  }
}

/** What waits one behind the other, and may go from anywhere. */
export class Line {
  #first: Item | undefined;
  #last: Item | undefined;
  /** Before it are control messages alone. */
  #oldestRun: Item | undefined;
  #runs = 0;

  get first(): Item | undefined {
    return this.#first;
  }

  get oldestRun(): Item | undefined {
    return this.#oldestRun;
  }

  /** How many of them are runs. */
  get runs(): number {
    return this.#runs;
  }

  append(item: Item): void {
    item.before = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.behind = item;
    this.#last = item;
    if (item.run === undefined) return;
    this.#runs++;
    this.#oldestRun ??= item;
  }

  /** Takes out one that waits here. */
  remove(item: Item): void {
    const { before, behind } = item;
    if (before === undefined) this.#first = behind;
    else before.behind = behind;
    if (behind === undefined) this.#last = before;
    else behind.before = before;
    // What was taken out long ago must not lead the collector to what came later: all of it would be taken for old.
    item.before = undefined;
    item.behind = undefined;
    if (item.run === undefined) return;
    this.#runs--;
    if (this.#oldestRun === item) {
      let next = behind;
      while (next !== undefined && next.run === undefined) next = next.behind;
      this.#oldestRun = next;
    }
  }
}
