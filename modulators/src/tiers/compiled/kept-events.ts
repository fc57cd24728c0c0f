import type { RunChunk } from "../../sandbox/sandbox.ts";
import type { EventWindow } from "./event-window.ts";
import { KeptContainer } from "./kept-container.ts";

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
    makeContainer: () => new KeptContainer(),
    count: (of: KeptContainer): number => of.count,
    first: (of: KeptContainer): unknown => of.first,
    firstKey: (of: KeptContainer): unknown => of.firstKey,
    shift: (of: KeptContainer): unknown => of.shift(),
    add: (of: KeptContainer, key: unknown, event: KeptEvent): void => of.add(key, event),
    addNumber: (of: KeptContainer, key: unknown, value: number): void => of.add(key, value),
    has: (of: KeptContainer, key: unknown): boolean => of.has(key),
    numberAt: (of: KeptContainer, key: unknown): number => of.numberAt(key),
    remove: (of: KeptContainer, key: unknown): boolean => of.remove(key),
    clear: (of: KeptContainer): void => of.clear(),
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

  /** Events that the program has let through since they were last taken. */
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
