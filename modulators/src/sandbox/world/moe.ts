import { toOutput } from "./events.ts";
import { freeze, hasOwn, isArray, keys, parse, recall, remember } from "./primordials.ts";

/*
 * What modulators see of the MOE: the module "jecho:moe".
 */

/** Services of the MOE, handed to the constructor. */
export interface Moe {
  /** The current state of each shared object, by name: frozen, and the same one during a whole call. */
  readonly objects: Readonly<Record<string, unknown>>;
  /** Events that the modulator's queue may hold. */
  readonly queueEvents: number;
  /** And what the modulator needs, by its names. */
  readonly [service: string]: unknown;
}

/** What the world keeps of its only modulator. */
export const world = {
  parameters: undefined as unknown,
  moe: undefined as Moe | undefined,
  states: { __proto__: null } as unknown as Record<string, unknown>,
  versions: { __proto__: null } as unknown as Record<string, number>,
  /** The newest version among the shared objects. */
  version: 0,
  /** The version that the event was made with which `dequeue` returns. */
  dequeuedVersion: 0,
  dropped: 0,
  /** Is there any urgent event? As long as there is none, nobody looks. */
  hasUrgent: false,
};

export function openWorld(parameters: string, offered: { readonly queueEvents: number }): void {
  world.parameters = deepFreeze(parse(parameters));
  world.moe = freeze({ objects: { __proto__: null } as unknown as Record<string, unknown>, ...offered });
}

/** Sets the state of a shared object, a new one or one already there. */
export function setObject(name: string, version: number, state: string): void {
  const { objects } = world.moe as Moe;
  if (!hasOwn(world.versions, name)) {
    Object.defineProperty(objects, name, { get: () => world.states[name], enumerable: true });
  }
  world.states[name] = deepFreeze(parse(state));
  world.versions[name] = version;
  if (version > world.version) world.version = version;
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) for (let i = 0; i < value.length; i++) deepFreeze(value[i]);
  else {
    const names = keys(value);
    for (let i = 0; i < names.length; i++) deepFreeze((value as Record<string, unknown>)[names[i] as string]);
  }
  return freeze(value);
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

  constructor(parameters: unknown = world.parameters, moe: Moe = world.moe as Moe) {
    this.parameters = parameters;
    this.objects = moe.objects;
    this.moe = moe;
    this.periodMs = (new.target as { periodMs?: number }).periodMs ?? 0;
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
  #versions: number[] = [];
  #first = 0;

  override enqueue(event: object): void {
    if (this.length >= (world.moe as Moe).queueEvents) {
      this.#take();
      world.dropped++;
    }
    const at = this.#events.length;
    this.#events[at] = toOutput(event);
    this.#versions[at] = world.version;
  }

  override dequeue(): object | undefined {
    return this.length === 0 ? undefined : this.#take();
  }

  /** Events that wait. */
  get length(): number {
    return this.#events.length - this.#first;
  }

  #take(): object | undefined {
    const event = this.#events[this.#first];
    world.dequeuedVersion = this.#versions[this.#first] as number;
    this.#events[this.#first++] = undefined;
    if (this.#first === this.#events.length) {
      this.#events = [];
      this.#versions = [];
      this.#first = 0;
    } else if (this.#first >= 1024) {
      this.#events = this.#events.slice(this.#first);
      this.#versions = this.#versions.slice(this.#first);
      this.#first = 0;
    }
    return event;
  }
}
