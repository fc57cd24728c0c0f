import { UNASKED_BYTES } from "../sandbox.ts";
import { hold, newestEvent, toOutput, uncounted } from "./events.ts";
import type { Memory } from "./memory.ts";
import { deepFreeze, isStale, present, pull } from "./objects.ts";
import { freeze, parse, recall, remember } from "./primordials.ts";
import { counts, UNLISTED } from "./services.ts";

/*
 * The module "jecho:moe": the MOE as modulators see it.
 */

/** Services of the MOE, handed to the constructor. */
export interface Moe {
  /** The current state of each shared object, by name: frozen, and the same one during a whole call. */
  readonly objects: Readonly<Record<string, unknown>>;
  /** Events that the modulator's queue may hold. */
  readonly queueEvents: number;
  /** Whether there is a newer state of this object than the modulator's lazy copy has. */
  readonly isStale: (name: string) => boolean;
  /** Asks for the newest state of a lazy copy; it is there in a later call. */
  readonly pull: (name: string) => void;
  /** The modulator's needs, by their names. */
  readonly [service: string]: unknown;
}

const blank = () => ({
  parameters: undefined as unknown,
  moe: undefined as Moe | undefined,
  /** The versions that the event returned by `dequeue` was made with. */
  dequeuedVersions: [] as readonly number[],
  dropped: 0,
  /** Events, and their bytes, that it was given while the transport was not ready, since it was asked for its output last. */
  unasked: 0,
  unaskedBytes: 0,
  /** Whether it is asked in this turn although the transport is not ready. */
  isAsked: false,
  /** Whether any event was made urgent; as long as none was, events are not looked up. */
  hasUrgent: false,
});

/** The world's state for its modulator. */
export let world = blank();

export const moeMemory: Memory<typeof world> = {
  blank,
  leave: () => world,
  enter: memory => {
    world = memory;
  },
};

export function setParameters(text: string): void {
  world.parameters = deepFreeze(parse(text));
}

export function openMoe(offered: { readonly queueEvents: number }): void {
  const objects = { __proto__: null } as unknown as Record<string, unknown>;
  world.moe = freeze({ __proto__: UNLISTED, objects, isStale, pull, ...offered });
}

/**
 * A consumer's code inside the producer. Subclasses override the intercepts; this one takes every event and
 * returns none.
 */
export class Modulator {
  readonly parameters: unknown;
  readonly objects: Readonly<Record<string, unknown>>;
  /** Services of the MOE and the producer. */
  readonly moe: Moe;
  /** Milliseconds between calls of `period`, from 10; 0, the default, for none. Read after each call, so it may change. */
  declare periodMs?: number;
  /** Most events per second that it wants of a producer; 0, the default, for all. Read after each call, like `periodMs`. */
  declare mostPerSecond?: number;

  constructor(parameters: unknown = world.parameters, moe: Moe = world.moe as Moe) {
    this.parameters = parameters;
    this.objects = moe.objects;
    this.moe = moe;
    const { periodMs, mostPerSecond } = new.target as { periodMs?: number; mostPerSecond?: number };
    // A getter of the class must not meet them.
    if (periodMs !== undefined) this.periodMs = periodMs;
    if (mostPerSecond !== undefined) this.mostPerSecond = mostPerSecond;
  }

  /** Called once, first of all, when the modulator is installed. */
  installed(): void {}

  /** Called last, when the last consumer has gone. Output goes nowhere from now on. */
  removed(): void {}

  /** A producer raised an event. */
  enqueue(_event: object): void {}

  /** The transport is ready for an event: returns the next one, or undefined where there is none. */
  dequeue(): object | undefined {
    return undefined;
  }

  /** `periodMs` have passed since the last call, or the last producer here has closed. */
  period(): void {}
}

const urgents = new WeakMap<object, true>();

/**
 * Marks an event to be sent ahead of waiting ones.
 *
 * @returns the event as one of the output type, for `dequeue` to return
 */
export function urgent(event: object): object {
  const made = toOutput(event);
  hold(made);
  remember(urgents, made, true);
  world.hasUrgent = true;
  return made;
}

export function isUrgent(event: object): boolean {
  return world.hasUrgent && recall(urgents, event) === true;
}

/** The modulator's queue. Its fields have plain names, like everything that each event touches (see events.ts). */
export interface Waiting {
  events: (object | undefined)[];
  versions: (readonly number[])[];
  /** For each waiting event, the number of input events so far when it came. */
  given: number[];
  /** Index of the first entry, and of the next one. */
  first: number;
  next: number;
  /** What becomes of the event that the modulator is being given. */
  door: Door;
}

/**
 * What letting that event through does: it waits behind others (`shut`), or leaves at once, for nothing waits (`open`). `passed`: it was let
 * through, and nothing else waits.
 */
export const DOOR = { shut: 0, open: 1, passed: 2 } as const;
type Door = (typeof DOOR)[keyof typeof DOOR];

/**
 * Events leave in the order they came. `enqueue` takes the event itself, whose bytes are passed on as they are, or a plain
 * object, which is encoded as the output type at once.
 */
export class FifoModulator extends Modulator {
  /** @internal */
  readonly "@waiting": Waiting = {
    events: [],
    versions: [],
    given: [],
    first: 0,
    next: 0,
    door: DOOR.shut,
  };

  override enqueue(event: object): void {
    const waiting = this["@waiting"];
    if (waiting.door === DOOR.open && event === newestEvent()) {
      waiting.door = DOOR.passed;
      return;
    }
    keepPassed(waiting);
    keep(waiting, event);
  }

  override dequeue(): object | undefined {
    const waiting = this["@waiting"];
    if (waiting.door === DOOR.passed) {
      waiting.door = DOOR.shut;
      return newestEvent();
    }
    return waiting.first === waiting.next ? undefined : take(waiting);
  }

  /** Events that wait. */
  get length(): number {
    const { first, next, door } = this["@waiting"];
    return next - first + (door === DOOR.passed ? 1 : 0);
  }
}

const dequeueFirst = FifoModulator.prototype.dequeue;

/** The queue of a modulator whose `dequeue` is that of `FifoModulator`; undefined for any other. */
export function waitingOf(modulator: Modulator): Waiting | undefined {
  return modulator instanceof FifoModulator ? modulator["@waiting"] : undefined;
}

/** Whether its output comes from its queue, oldest first. */
export function isFirstOut(modulator: Modulator): boolean {
  return modulator.dequeue === dequeueFirst;
}

/** Whether as many events wait in this queue as may. */
export function isFull(waiting: Waiting | undefined): boolean {
  return waiting !== undefined && waiting.next - waiting.first >= (world.moe as Moe).queueEvents;
}

/** So many events are given now. Where they would be more than may wait for the transport, the modulator is asked for its output. */
export function expect(events: number, bytes: number): void {
  world.unasked += events;
  world.unaskedBytes += bytes;
  world.isAsked = world.unasked >= (world.moe as Moe).queueEvents || world.unaskedBytes >= UNASKED_BYTES;
}

/** The turn has ended. @param wasAsked whether the modulator was asked for all its output */
export function endTurn(wasAsked: boolean): void {
  world.isAsked = false;
  if (wasAsked) world.unasked = world.unaskedBytes = 0;
}

/** Has the oldest fall out of a queue that is more than full, since the modulator's own `dequeue` holds them back. */
export function trim(waiting: Waiting | undefined): void {
  if (waiting === undefined) return;
  while (waiting.next - waiting.first > (world.moe as Moe).queueEvents) {
    take(waiting);
    world.dropped++;
  }
}

/** Has an event that was let through wait: it may not leave at once. */
export function keepPassed(waiting: Waiting): void {
  if (waiting.door === DOOR.passed) keep(waiting, newestEvent());
}

function keep(waiting: Waiting, event: object): void {
  waiting.door = DOOR.shut;
  hold(event);
  // Reading a plain object may run the modulator's code, so the queue is read after it.
  const made = toOutput(event);
  waiting.events[waiting.next] = made;
  waiting.given[waiting.next] = givenSoFar();
  waiting.versions[waiting.next++] = present.versions;
}

function givenSoFar(): number {
  return counts.enqueued + uncounted().enqueued;
}

/** Number of events since the oldest one that waits in the modulator's queue, that one included; 0 where none waits. */
export function waitingSince(modulator: Modulator): number {
  const waiting = waitingOf(modulator);
  if (waiting === undefined || waiting.first === waiting.next) return 0;
  return givenSoFar() - (waiting.given[waiting.first] as number) + 1;
}

function take(waiting: Waiting): object | undefined {
  const { events, versions, first } = waiting;
  const event = events[first];
  world.dequeuedVersions = versions[first] as readonly number[];
  events[first] = undefined;
  waiting.first++;
  if (waiting.first === waiting.next) {
    // The arrays are kept: most events find the queue empty.
    waiting.first = 0;
    waiting.next = 0;
  } else if (waiting.first >= 1024) {
    waiting.events = events.slice(waiting.first, waiting.next);
    waiting.versions = versions.slice(waiting.first, waiting.next);
    waiting.given = waiting.given.slice(waiting.first, waiting.next);
    waiting.next -= waiting.first;
    waiting.first = 0;
  }
  return event;
}
