import type { EventsFrame } from "@jecho/shared/internal";
import type { Waiting } from "./waiting.ts";

export type WhenFull = "drop-oldest" | "latest" | "disconnect" | "block";

/** A run in memory of its own, or a control message that keeps its place among the runs. */
type Item =
  | { readonly run: EventsFrame; readonly key: string | undefined; readonly bytes: number }
  | { readonly control: Uint8Array; readonly bytes: number };

/** What waits for one consumer's process that does not keep up, with a bound and a policy for when it is reached. */
export class RunQueue {
  readonly whenFull: WhenFull;
  readonly #limitBytes: number;
  readonly #waiting: Waiting;
  readonly #urgent: Item[] = [];
  #items: (Item | undefined)[] = [];
  #head = 0;
  /** Where the newest event of each key waits, for the policy `latest`. */
  readonly #latest = new Map<string, number>();
  #bytes = 0;
  #dropped = 0;
  /** Items that were taken out of the front for good: an index into the queue is a place minus this. */
  #shifted = 0;

  /** @param waiting what waits for that process everywhere */
  constructor(whenFull: WhenFull, limitBytes: number, waiting: Waiting) {
    this.whenFull = whenFull;
    this.#limitBytes = limitBytes;
    this.#waiting = waiting;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Is there more than may wait, here or for that process everywhere? */
  get isFull(): boolean {
    return this.#bytes > this.#limitBytes || this.#waiting.isFull;
  }

  /** May those go on that were asked to wait when it was full? Where nothing waits here they may, whatever waits on other channels. */
  get hasRoom(): boolean {
    return this.isEmpty || (this.#bytes * 2 <= this.#limitBytes && !this.#waiting.isTight);
  }

  /** Events dropped since this was last asked. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /**
   * @param run in memory of its own; other queues may hold the same
   * @param keyOf what distinguishes events whose newest is wanted
   * @returns what had to go for it
   */
  push(run: EventsFrame, keyOf: (run: EventsFrame, i: number) => string): EventsFrame[] {
    if (run.isUrgent) {
      this.#enter(this.#urgent, { run, key: undefined, bytes: run.end - run.start });
      return this.#makeRoom();
    }
    if (this.whenFull !== "latest") {
      this.#enter(this.#items, { run, key: undefined, bytes: run.end - run.start });
      return this.whenFull === "drop-oldest" ? this.#makeRoom() : [];
    }
    const gone: EventsFrame[] = [];
    for (let i = 0; i < run.count; i++) {
      const event = run.count === 1 ? run : run.slice(i, i + 1);
      const key = keyOf(event, 0);
      const place = this.#latest.get(key);
      const older = place === undefined ? undefined : this.#items[place - this.#shifted];
      if (older !== undefined && "run" in older) {
        this.#items[(place as number) - this.#shifted] = undefined;
        this.#drop(older.run, older.bytes, gone);
      }
      this.#latest.set(key, this.#items.length + this.#shifted);
      this.#enter(this.#items, { run: event, key, bytes: event.end - event.start });
    }
    return [...gone, ...this.#makeRoom()];
  }

  /** A control message, in its place behind the runs that wait. */
  pushControl(control: Uint8Array): void {
    this.#enter(this.#items, { control, bytes: control.byteLength });
  }

  /** The next message to send. */
  shift(): Uint8Array | undefined {
    const urgent = this.#urgent.shift();
    if (urgent !== undefined) return this.#taken(urgent);
    while (this.#head < this.#items.length) {
      const item = this.#items[this.#head];
      this.#items[this.#head++] = undefined;
      this.#compact();
      if (item !== undefined) return this.#taken(item);
    }
    return undefined;
  }

  /** Everything that waits is given up. */
  clear(): void {
    while (this.shift() !== undefined);
  }

  #enter(items: (Item | undefined)[], item: Item): void {
    items.push(item);
    this.#bytes += item.bytes;
    this.#waiting.add(item.bytes);
  }

  #leave(bytes: number): void {
    this.#bytes -= bytes;
    this.#waiting.remove(bytes);
  }

  #taken(item: Item): Uint8Array {
    this.#leave(item.bytes);
    if ("control" in item) return item.control;
    if (item.key !== undefined) this.#latest.delete(item.key);
    return item.run.raw();
  }

  /** Drops the oldest runs until what waits is within its bound; the newest stays whatever its size. */
  #makeRoom(): EventsFrame[] {
    const gone: EventsFrame[] = [];
    while (this.#head < this.#items.length && this.#items[this.#head] === undefined) this.#head++;
    for (let i = this.#head; this.isFull && i < this.#items.length - 1; i++) {
      const item = this.#items[i];
      if (item === undefined || !("run" in item)) continue;
      this.#items[i] = undefined;
      if (item.key !== undefined) this.#latest.delete(item.key);
      this.#drop(item.run, item.bytes, gone);
    }
    return gone;
  }

  #drop(run: EventsFrame, bytes: number, gone: EventsFrame[]): void {
    this.#leave(bytes);
    this.#dropped += run.count;
    gone.push(run);
  }

  #compact(): void {
    if (this.#head < 1024 || this.#head * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#head);
    this.#shifted += this.#head;
    this.#head = 0;
  }
}
