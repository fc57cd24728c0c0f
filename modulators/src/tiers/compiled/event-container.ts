import type { KeptEvent } from "./kept-events.ts";

interface KeptEntry {
  readonly key: unknown;
  event: KeptEvent;
  before: KeptEntry | undefined;
  after: KeptEntry | undefined;
}

/** Bytes that an entry counts for besides those of its event. */
const ENTRY_BYTES = 64;

/** A list or a map of events that a field holds: in the order in which they came, found by their keys. None of its functions takes longer with more entries. */
export class EventContainer {
  #first: KeptEntry | undefined;
  #last: KeptEntry | undefined;
  #count = 0;
  #heldBytes = 0;
  readonly #keyed = new Map<unknown, KeptEntry>();

  get count(): number {
    return this.#count;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get firstKey(): unknown {
    return this.#first?.key ?? null;
  }

  get first(): KeptEvent | null {
    return this.#first?.event ?? null;
  }

  has(key: unknown): boolean {
    return this.#keyed.has(key);
  }

  /** Adds an event at the end, or in the place of the one with this key; null for no key. */
  add(key: unknown, event: KeptEvent): void {
    const known = key === null ? undefined : this.#keyed.get(key);
    if (known !== undefined) {
      this.#heldBytes += event.heldBytes - known.event.heldBytes;
      known.event = event;
      return;
    }
    const entry: KeptEntry = { key, event, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    if (key !== null) this.#keyed.set(key, entry);
    this.#count++;
    this.#heldBytes += bytesOf(entry);
  }

  /** Takes out the event with this key. @returns whether there is one */
  remove(key: unknown): boolean {
    const entry = this.#keyed.get(key);
    if (entry !== undefined) this.#take(entry);
    return entry !== undefined;
  }

  /** Takes out the first event; null where there is none. */
  shift(): KeptEvent | null {
    const first = this.#first;
    if (first === undefined) return null;
    this.#take(first);
    return first.event;
  }

  #take(entry: KeptEntry): void {
    const { key, before, after } = entry;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    if (key !== null) this.#keyed.delete(key);
    this.#count--;
    this.#heldBytes -= bytesOf(entry);
  }
}

function bytesOf({ key, event }: KeptEntry): number {
  return ENTRY_BYTES + event.heldBytes + (typeof key === "string" ? 2 * key.length : 0);
}
