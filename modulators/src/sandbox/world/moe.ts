import { toOutput } from "./events.ts";
import type { Memory } from "./memory.ts";
import { deepFreeze, isStale, present, pull } from "./objects.ts";
import { freeze, parse, recall, remember } from "./primordials.ts";

/*
 * What modulators see of the MOE: the module "jecho:moe".
 */

/** Services of the MOE, handed to the constructor. */
export interface Moe {
  /** The current state of each shared object, by name: frozen, and the same one during a whole call. */
  readonly objects: Readonly<Record<string, unknown>>;
  /** Events that the modulator's queue may hold. */
  readonly queueEvents: number;
  /** Is there a newer state of this object than the modulator's lazy copy has? */
  readonly isStale: (name: string) => boolean;
  /** Asks for the newest state of a lazy copy; it is there in a later call. */
  readonly pull: (name: string) => void;
  /** And what the modulator needs, by its names. */
  readonly [service: string]: unknown;
}

const blank = () => ({
  parameters: undefined as unknown,
  moe: undefined as Moe | undefined,
  /** The versions that the event was made with which `dequeue` returns. */
  dequeuedVersions: [] as readonly number[],
  dropped: 0,
  /** Is there any urgent event? As long as there is none, nobody looks. */
  hasUrgent: false,
});

/** What the world keeps of its modulator. */
export let world = blank();

export const moeMemory: Memory<typeof world> = {
  blank,
  leave: () => world,
  enter: memory => {
    world = memory;
  },
};

export function openWorld(parameters: string, offered: { readonly queueEvents: number }): void {
  world.parameters = deepFreeze(parse(parameters));
  const objects = { __proto__: null } as unknown as Record<string, unknown>;
  world.moe = freeze({ objects, isStale, pull, ...offered });
}

/**
 * A consumer's code inside the producer. Subclasses override the intercepts; this one takes every event and
 * returns none.
 */
export class Modulator {
  readonly parameters: unknown;
  readonly objects: Readonly<Record<string, unknown>>;
  /** What it needs of the MOE and the producer. */
  readonly moe: Moe;
  /** Milliseconds between calls of `period`, from 10; 0 for none. Read after each call, so it may change. */
  periodMs: number;
  /** Events a second that it wants at most of a producer; 0, the default, for every event. Read after each call, as `periodMs`. */
  declare mostPerSecond?: number;

  constructor(parameters: unknown = world.parameters, moe: Moe = world.moe as Moe) {
    this.parameters = parameters;
    this.objects = moe.objects;
    this.moe = moe;
    const { periodMs = 0, mostPerSecond } = new.target as { periodMs?: number; mostPerSecond?: number };
    this.periodMs = periodMs;
    // A getter of the class must not meet it.
    if (mostPerSecond !== undefined) this.mostPerSecond = mostPerSecond;
  }

  /** It is in place; comes once, before everything else. */
  installed(): void {}

  /** Its last consumer has gone; comes last. What it makes now goes nowhere. */
  removed(): void {}

  /** A producer raised an event. */
  enqueue(_event: object): void {}

  /** The transport is ready for an event: the next one, or undefined where there is none. */
  dequeue(): object | undefined {
    return undefined;
  }

  /** `periodMs` have passed since the last call. */
  period(): void {}
}

const urgents = new WeakMap<object, true>();

/**
 * Marks an event to be sent ahead of those that wait on their way.
 *
 * @returns the event as one of the output type, for `dequeue` to return
 */
export function urgent(event: object): object {
  const made = toOutput(event);
  remember(urgents, made, true);
  world.hasUrgent = true;
  return made;
}

export function isUrgent(event: object): boolean {
  return world.hasUrgent && recall(urgents, event) === true;
}

/**
 * Events leave in the order they came. `enqueue` takes the event itself, whose bytes are passed on as they are, or a plain
 * object, which is encoded as the output type at once. A full queue drops its oldest.
 */
export class FifoModulator extends Modulator {
  #events: (object | undefined)[] = [];
  #versions: (readonly number[])[] = [];
  /** Where the first one that waits lies, and where the next one will. */
  #first = 0;
  #next = 0;

  override enqueue(event: object): void {
    if (this.#next - this.#first >= (world.moe as Moe).queueEvents) {
      this.#take();
      world.dropped++;
    }
    this.#events[this.#next] = toOutput(event);
    this.#versions[this.#next++] = present.versions;
  }

  override dequeue(): object | undefined {
    return this.#first === this.#next ? undefined : this.#take();
  }

  /** Events that wait. */
  get length(): number {
    return this.#next - this.#first;
  }

  #take(): object | undefined {
    const event = this.#events[this.#first];
    world.dequeuedVersions = this.#versions[this.#first] as readonly number[];
    this.#events[this.#first++] = undefined;
    if (this.#first === this.#next) {
      // The room is kept: most events find the queue empty.
      this.#first = 0;
      this.#next = 0;
    } else if (this.#first >= 1024) {
      this.#events = this.#events.slice(this.#first, this.#next);
      this.#versions = this.#versions.slice(this.#first, this.#next);
      this.#next -= this.#first;
      this.#first = 0;
    }
    return event;
  }
}
