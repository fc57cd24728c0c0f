import { type EventsFrame, sliceRun } from "@jecho/shared/internal";
import { laneNumber } from "./lane.ts";
import type { SharedMemory, WaitingBytes } from "./waiting.ts";

/** A producer's usual or urgent events on a channel. */
export interface LaneName {
  readonly producer: number;
  readonly urgent: boolean;
}

/** Runs up to this size share blocks of memory: a waiting run keeps at most its block. */
const SHORT_BYTES = 256;
const BLOCK_BYTES = 4096;

/**
 * Copies runs that outlive their message. With many channels these are many and short, and allocating and collecting memory for each would
 * take longer than everything else.
 */
export class RunCopies {
  #bytes = new Uint8Array(BLOCK_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;

  copy(run: EventsFrame): EventsFrame {
    const size = run.end - run.start;
    if (size > SHORT_BYTES) return run.copy();
    if (this.#used + size > BLOCK_BYTES) {
      this.#bytes = new Uint8Array(BLOCK_BYTES);
      this.#view = new DataView(this.#bytes.buffer);
      this.#used = 0;
    }
    const at = this.#used;
    // Payloads are aligned to 8.
    this.#used = (at + size + 7) & ~7;
    return run.copyTo(this.#bytes, this.#view, at);
  }
}

/** A run in memory of its own, or a control message in order with the runs. */
export class Item {
  readonly run: EventsFrame | undefined;
  readonly bytes: number;
  /** Key of a run of one event, where only the newest with this key is wanted. */
  readonly key: string | undefined;
  readonly memory: SharedMemory | undefined;
  readonly #control: Uint8Array | undefined;
  before: Item | undefined;
  behind: Item | undefined;

  /** @param memory the run's; a control message has its own */
  constructor(content: EventsFrame | Uint8Array, memory?: SharedMemory, key?: string) {
    if (content instanceof Uint8Array) {
      this.#control = content;
      this.bytes = content.byteLength;
    } else {
      this.run = content;
      this.bytes = content.end - content.start;
    }
    this.memory = memory;
    this.key = key;
  }

  /** The frames to send for the item. */
  get frames(): Uint8Array {
    return this.#control ?? (this.run as EventsFrame).raw();
  }
}

/** A list of waiting items, from which each may be removed. */
export class Line {
  #first: Item | undefined;
  #last: Item | undefined;
  /** The oldest run; only control messages are before it. */
  #oldestRun: Item | undefined;
  #runs = 0;

  get first(): Item | undefined {
    return this.#first;
  }

  get oldestRun(): Item | undefined {
    return this.#oldestRun;
  }

  /** Number of runs among the entries. */
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

  /** Removes an item of this list. */
  remove(item: Item): void {
    const { before, behind } = item;
    if (before === undefined) this.#first = behind;
    else before.behind = behind;
    if (behind === undefined) this.#last = before;
    else behind.before = before;
    // A removed item must not refer to later ones: the garbage collector would take them all for old.
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

export type WhenFull = "drop-oldest" | "latest" | "disconnect" | "block";

/** A queue for a process that does not keep up, with a bound and a policy for when that is reached. */
export class RunQueue {
  #whenFull: WhenFull;
  #limitBytes: number;
  readonly #waiting: WaitingBytes;
  /** Urgent runs, which are sent before the others; most queues never have any. */
  #urgent: Line | undefined;
  readonly #others = new Line();
  /** The newest event of each key among the others, for the policy `latest`. */
  readonly #latest = new Map<string, Item>();
  #bytes = 0;
  #dropped = 0;
  /** Lanes whose newest run was dropped, and where its stretch of the raw source ended. Undefined until something is dropped. */
  #cutShort: Map<number, LaneName & { readonly through: number }> | undefined;

  /** @param waiting the process's waiting bytes on all channels */
  constructor(whenFull: WhenFull, limitBytes: number, waiting: WaitingBytes) {
    this.#whenFull = whenFull;
    this.#limitBytes = limitBytes;
    this.#waiting = waiting;
  }

  get whenFull(): WhenFull {
    return this.#whenFull;
  }

  /** Goes by another policy and bound from now on: `makeRoom` brings what waits within them. */
  follow(whenFull: WhenFull, limitBytes: number): void {
    this.#whenFull = whenFull;
    this.#limitBytes = limitBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Whether more waits than may, here or on all channels of the process. */
  get isFull(): boolean {
    return this.#bytes > this.#limitBytes || this.#waiting.isFull;
  }

  /** The limit that was reached, now or when it last made room. */
  get bound(): "queueTotalBytes" | "connectionQueueBytes" | "consumerQueueBytes" {
    if (this.#waiting.isLowered) return "queueTotalBytes";
    return this.#waiting.isTight ? "connectionQueueBytes" : "consumerQueueBytes";
  }

  /** Whether the consumer is to be cut off: by the policy, or because nothing else kept the queue within its bounds. */
  get isLost(): boolean {
    return (this.whenFull === "disconnect" && this.isFull) || this.#waiting.isTooMuch;
  }

  /**
   * Whether producers that were asked to wait may go on. They may where nothing waits here, whatever waits on other
   * channels.
   */
  get hasRoom(): boolean {
    return this.isEmpty || (this.#bytes * 2 <= this.#limitBytes && !this.#waiting.isTight);
  }

  /** Number of raised events whose runs were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** When nothing waits any more: lanes whose newest run was dropped since the last call. */
  takeCutShort(): LaneName[] {
    const lanes = [...(this.#cutShort?.values() ?? [])];
    this.#cutShort?.clear();
    return lanes;
  }

  /**
   * @param run in memory of its own, which other queues may share
   * @param keyOf key of an event, where only the newest of each key is wanted
   * @param memory the run's, shared by all queues with it
   * @returns the runs that were dropped for it
   */
  push(
    run: EventsFrame,
    keyOf: (run: EventsFrame, i: number) => string,
    memory: SharedMemory = { bytes: run.end - run.start, holders: 0 },
  ): EventsFrame[] {
    const gone: EventsFrame[] = [];
    if (run.isUrgent || this.whenFull !== "latest") this.#append(new Item(run, memory), run.isUrgent);
    else {
      for (let i = 0; i < run.count; i++) {
        const event = run.count === 1 ? run : sliceRun(run, i, i + 1);
        const key = keyOf(event, 0);
        const older = this.#latest.get(key);
        if (older !== undefined) this.#drop(this.#others, older, gone);
        const item = new Item(event, memory, key);
        this.#latest.set(key, item);
        this.#append(item, false);
      }
    }
    this.#dropOldest(gone);
    return gone;
  }

  /** Drops runs beyond a bound that was lowered. @returns the dropped ones */
  makeRoom(): EventsFrame[] {
    const gone: EventsFrame[] = [];
    this.#dropOldest(gone);
    return gone;
  }

  /** Adds a control message behind the waiting runs. @param urgent whether it is about urgent ones */
  pushControl(control: Uint8Array, urgent: boolean): void {
    this.#append(new Item(control), urgent);
  }

  /** The next message to send. */
  shift(): Uint8Array | undefined {
    const urgent = this.#urgent?.first;
    const item = urgent ?? this.#others.first;
    if (item === undefined) return undefined;
    this.#leave(urgent === undefined ? this.#others : (this.#urgent as Line), item);
    return this.#cutShort === undefined || item.run === undefined ? item.frames : this.#behindGap(item.run);
  }

  /** Drops everything that waits. @returns the control messages that waited */
  clear(): Uint8Array[] {
    const controls: Uint8Array[] = [];
    for (const line of [this.#urgent, this.#others])
      for (let item = line?.first; item !== undefined; item = line?.first) {
        if (item.run === undefined) controls.push(item.frames);
        this.#leave(line as Line, item);
      }
    return controls;
  }

  /** A run that may be behind dropped ones: of a stretch of which some was dropped, it accounts for no more than its own events. */
  #behindGap(run: EventsFrame): Uint8Array {
    const { after, through, count, isPart } = run;
    const number = laneNumber(run.producer, run.isUrgent);
    const gap = this.#cutShort?.get(number);
    this.#cutShort?.delete(number);
    if (gap === undefined || through === 0 || gap.through !== through) return run.raw();
    const own = run.copy();
    own.account(Math.max(after + 1, through - count), through, isPart);
    return own.raw();
  }

  #append(item: Item, urgent: boolean): void {
    if (urgent) this.#urgent ??= new Line();
    const line = urgent ? (this.#urgent as Line) : this.#others;
    line.append(item);
    this.#bytes += item.bytes;
    this.#waiting.add(item.bytes, item.memory);
  }

  #leave(line: Line, item: Item): void {
    line.remove(item);
    this.#bytes -= item.bytes;
    this.#waiting.remove(item.bytes, item.memory);
    if (item.key !== undefined) this.#latest.delete(item.key);
  }

  /**
   * Drops the oldest runs, if the policy allows it, until the rest is within its bound; urgent ones go last. The newest usual run and
   * the newest urgent one stay, whatever their size.
   */
  #dropOldest(gone: EventsFrame[]): void {
    if (this.whenFull !== "drop-oldest" && this.whenFull !== "latest") return;
    for (const line of [this.#others, this.#urgent])
      while (line !== undefined && line.runs > 1 && this.isFull)
        this.#drop(line, line.oldestRun as Item, gone);
  }

  #drop(line: Line, item: Item, gone: EventsFrame[]): void {
    this.#leave(line, item);
    const run = item.run as EventsFrame;
    this.#dropped += run.stake;
    this.#cutShort ??= new Map();
    const { producer, isUrgent: urgent, through } = run;
    this.#cutShort.set(laneNumber(producer, urgent), { producer, urgent, through });
    gone.push(run);
  }
}
