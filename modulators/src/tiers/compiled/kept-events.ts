import type { RunChunk } from "../../sandbox/sandbox.ts";
import { EventContainer } from "./event-container.ts";
import type { EventWindow } from "./event-window.ts";

/** An event that a modulator keeps beyond the call that it came with. */
export interface KeptEvent {
  /** A copy of its own. */
  readonly bytes: Uint8Array;
  readonly heldBytes: number;
  /** Number of its type. */
  readonly type: number;
  isUrgent: boolean;
}

/** The events that one modulator keeps. Its program hands them around as references, which it cannot look into. */
export class KeptEvents {
  readonly #window: EventWindow;
  #chunk: RunChunk | undefined;
  #index = 0;
  #type = 0;
  /** The event that came in, once it is kept. */
  #newest: KeptEvent | undefined;
  #passed: KeptEvent[] = [];
  /** The functions that a program is given. */
  readonly functions = {
    keep: (): KeptEvent => {
      this.#newest ??= this.#copy();
      return this.#newest;
    },
    markKept: (): void => {
      if (this.#newest !== undefined) this.#newest.isUrgent = true;
    },
    pass: (event: KeptEvent): void => {
      this.#passed.push(event);
    },
    makeContainer: () => new EventContainer(),
    count: (of: EventContainer): number => of.count,
    first: (of: EventContainer): KeptEvent | null => of.first,
    firstKey: (of: EventContainer): unknown => of.firstKey,
    shift: (of: EventContainer): KeptEvent | null => of.shift(),
    add: (of: EventContainer, key: unknown, event: KeptEvent): void => of.add(key, event),
    has: (of: EventContainer, key: unknown): boolean => of.has(key),
    remove: (of: EventContainer, key: unknown): boolean => of.remove(key),
    numberKey: (key: number): number => key,
    booleanKey: (key: number): boolean => key !== 0,
    textKey: (at: number, length: number): string => this.#window.textAt(at, length),
  };

  constructor(window: EventWindow) {
    this.#window = window;
  }

  /** The program is given this event next; none for another call. */
  give(chunk?: RunChunk, index = 0, type = 0): void {
    this.#chunk = chunk;
    this.#index = index;
    this.#type = type;
    this.#newest = undefined;
  }

  /** Those that the program has let through since it was asked last. */
  takePassed(): readonly KeptEvent[] {
    const passed = this.#passed;
    if (passed.length > 0) this.#passed = [];
    return passed;
  }

  #copy(): KeptEvent {
    const { bytes, bounds } = this.#chunk as RunChunk;
    const own = bytes.slice(bounds[2 * this.#index], bounds[2 * this.#index + 1]);
    return { bytes: own, heldBytes: own.byteLength, type: this.#type, isUrgent: false };
  }
}
