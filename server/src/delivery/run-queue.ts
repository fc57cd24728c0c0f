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
  /** In their order, from `#head` on, with gaps where some have gone. */
  #items: (Item | undefined)[] = [];
  #head = 0;
  #present = 0;
  /** Where the newest event of each key waits, for the policy `latest`. */
  readonly #latest = new Map<string, number>();
  #bytes = 0;
  #dropped = 0;

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
    if (run.isUrgent || this.whenFull !== "latest") {
      const item = { run, key: undefined, bytes: run.end - run.start };
      if (run.isUrgent) {
        this.#urgent.push(item);
        this.#enter(item);
      } else this.#append(item);
      return this.#makeRoom();
    }
    const gone: EventsFrame[] = [];
    for (let i = 0; i < run.count; i++) {
      const event = run.count === 1 ? run : run.slice(i, i + 1);
      const key = keyOf(event, 0);
      const place = this.#latest.get(key);
      if (place !== undefined) this.#drop(place, gone);
      this.#latest.set(key, this.#items.length);
      this.#append({ run: event, key, bytes: event.end - event.start });
    }
    return [...gone, ...this.#makeRoom()];
  }

  /** A control message, in its place behind the runs that wait. */
  pushControl(control: Uint8Array): void {
    this.#append({ control, bytes: control.byteLength });
  }

  /** The next message to send. */
  shift(): Uint8Array | undefined {
    const urgent = this.#urgent.shift();
    if (urgent !== undefined) return this.#taken(urgent);
    while (this.#head < this.#items.length) {
      const item = this.#vacate(this.#head++);
      if (item === undefined) continue;
      this.#compact();
      return this.#taken(item);
    }
    return undefined;
  }

  /** Everything that waits is given up. */
  clear(): void {
    while (this.shift() !== undefined);
  }

  #append(item: Item): void {
    this.#items.push(item);
    this.#present++;
    this.#enter(item);
  }

  #enter({ bytes }: Item): void {
    this.#bytes += bytes;
    this.#waiting.add(bytes);
  }

  #leave({ bytes }: Item): void {
    this.#bytes -= bytes;
    this.#waiting.remove(bytes);
  }

  #taken(item: Item): Uint8Array {
    this.#leave(item);
    return "control" in item ? item.control : item.run.raw();
  }

  /** Takes what is at this place out. @returns that, if there is something */
  #vacate(place: number): Item | undefined {
    const item = this.#items[place];
    if (item === undefined) return undefined;
    this.#items[place] = undefined;
    this.#present--;
    if ("key" in item && item.key !== undefined) this.#latest.delete(item.key);
    return item;
  }

  /** Where the policy lets events go: drops the oldest runs until what waits is within its bound; the newest stays whatever its size. */
  #makeRoom(): EventsFrame[] {
    const gone: EventsFrame[] = [];
    if (this.whenFull === "drop-oldest" || this.whenFull === "latest") {
      while (this.#head < this.#items.length && this.#items[this.#head] === undefined) this.#head++;
      for (let i = this.#head; this.isFull && i < this.#items.length - 1; i++) this.#drop(i, gone);
      this.#compact();
    }
    return gone;
  }

  /** A run is dropped; a control message stays. */
  #drop(place: number, gone: EventsFrame[]): void {
    const item = this.#items[place];
    if (item === undefined || !("run" in item)) return;
    this.#vacate(place);
    this.#leave(item);
    this.#dropped += item.run.count;
    gone.push(item.run);
  }

  /** Closes the gaps once they are most of it: nothing may be taken out for hours. */
  #compact(): void {
    if (this.#items.length < 1024 || this.#present * 2 > this.#items.length) return;
    this.#items = this.#items.filter(item => item !== undefined);
    this.#head = 0;
    for (const [place, item] of this.#items.entries())
      if (item !== undefined && "key" in item && item.key !== undefined) this.#latest.set(item.key, place);
  }
}
