import type { EventsFrame } from "@jecho/shared/internal";
import { Item, Line } from "./line.ts";
import type { Waiting } from "./waiting.ts";

export type WhenFull = "drop-oldest" | "latest" | "disconnect" | "block";

/** What waits for one consumer's process that does not keep up, with a bound and a policy for when it is reached. */
export class RunQueue {
  readonly whenFull: WhenFull;
  readonly #limitBytes: number;
  readonly #waiting: Waiting;
  /** What goes before the others; most queues never have any. */
  #urgent: Line | undefined;
  readonly #others = new Line();
  /** The newest event of each key among the others, for the policy `latest`. */
  readonly #latest = new Map<string, Item>();
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

  /** Is its consumer to be cut off: by its policy, or for nothing else has kept what waits within its bounds? */
  get isLost(): boolean {
    return (this.whenFull === "disconnect" && this.isFull) || this.#waiting.isTooMuch;
  }

  /** May those go on that were asked to wait when it was full? Where nothing waits here they may, whatever waits on other channels. */
  get hasRoom(): boolean {
    return this.isEmpty || (this.#bytes * 2 <= this.#limitBytes && !this.#waiting.isTight);
  }

  /** Raised events whose runs were dropped since this was last asked. */
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
    const gone: EventsFrame[] = [];
    if (run.isUrgent || this.whenFull !== "latest") this.#append(new Item(run), run.isUrgent);
    else {
      for (let i = 0; i < run.count; i++) {
        const event = run.count === 1 ? run : run.slice(i, i + 1);
        const key = keyOf(event, 0);
        const older = this.#latest.get(key);
        if (older !== undefined) this.#drop(this.#others, older, gone);
        const item = new Item(event, key);
        this.#latest.set(key, item);
        this.#append(item, false);
      }
    }
    this.#makeRoom(gone);
    return gone;
  }

  /** A control message, in its place behind the runs that wait. @param urgent it is about urgent ones */
  pushControl(control: Uint8Array, urgent: boolean): void {
    this.#append(new Item(control), urgent);
  }

  /** The next message to send. */
  shift(): Uint8Array | undefined {
    const urgent = this.#urgent?.first;
    const item = urgent ?? this.#others.first;
    if (item === undefined) return undefined;
    this.#leave(urgent === undefined ? this.#others : (this.#urgent as Line), item);
    return item.frames;
  }

  /** Everything that waits is given up. */
  clear(): void {
    while (this.shift() !== undefined);
  }

  #append(item: Item, urgent: boolean): void {
    if (urgent) this.#urgent ??= new Line();
    const line = urgent ? (this.#urgent as Line) : this.#others;
    line.append(item);
    this.#bytes += item.bytes;
    this.#waiting.add(item.bytes);
  }

  #leave(line: Line, item: Item): void {
    line.remove(item);
    this.#bytes -= item.bytes;
    this.#waiting.remove(item.bytes);
    if (item.key !== undefined) this.#latest.delete(item.key);
  }

  /**
   * Where the policy lets events go: drops the oldest runs until what waits is within its bound, urgent ones last. Of these and of the
   * others the newest stays whatever its size.
   */
  #makeRoom(gone: EventsFrame[]): void {
    if (this.whenFull !== "drop-oldest" && this.whenFull !== "latest") return;
    for (const line of [this.#others, this.#urgent])
      while (line !== undefined && line.runs > 1 && this.isFull)
        this.#drop(line, line.oldestRun as Item, gone);
  }

  #drop(line: Line, item: Item, gone: EventsFrame[]): void {
    this.#leave(line, item);
    const run = item.run as EventsFrame;
    this.#dropped += run.stake;
    gone.push(run);
  }
}
