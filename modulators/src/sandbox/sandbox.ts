import type { JechoError } from "@jecho/shared";
import type { Offer, Stretch } from "@jecho/shared/internal";

/** Limits of one modulator, and of all that share a host. One that uses more is removed, and its consumers are told why. */
export interface Limits {
  /** Memory of the modulator's heap and buffers, in MiB. Default: 32. */
  readonly memoryMiB: number;
  /**
   * Memory of all modulators of a host together, in MiB. Beyond it no more are installed (`OVERLOADED`: they run elsewhere), and if the installed
   * ones grow beyond it, the largest one of the subject that uses most is removed. Default: 512.
   */
  readonly totalMemoryMiB: number;
  /** Processor time of one call, of the intercepts for up to 256 events or 256 KiB, in milliseconds, besides 1 ms for each event. Default: 50. */
  readonly callMs: number;
  /** Processor time for evaluating the module and constructing the modulator, in milliseconds. Default: 250. */
  readonly installMs: number;
  /** Share of one processor over `shareWindowMs`. Time up to 1 ms per event is not counted. Default: 0.5. */
  readonly timeShare: number;
  /** Default: 1000. */
  readonly shareWindowMs: number;
  /** Bytes of all the events that one batch makes. Default: 16 MiB. */
  readonly outputBytes: number;
  /** Events that one batch makes. Default: 65,536. */
  readonly outputEvents: number;
  /** Events per second that it makes beyond the number of its input events. Default: 50,000. */
  readonly eventsPerSecond: number;
  /** Bytes per second that it makes beyond the size of its input. Default: 64 MiB. */
  readonly bytesPerSecond: number;
  /**
   * Events, of up to 1 MiB, that a modulator is given while the transport is not ready, or that wait in its queue, until it is asked for its output all the
   * same. What its own `dequeue` holds back beyond that falls out of the queue, oldest first, and is counted. Default: 1024.
   */
  readonly queueEvents: number;
  /** Bytes of the modulator's source. Default: 256 KiB. */
  readonly sourceBytes: number;
  /** Bytes of the parameters and of each shared object's state, as JSON. Default: 64 KiB. */
  readonly parametersBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  memoryMiB: 32,
  totalMemoryMiB: 512,
  callMs: 50,
  installMs: 250,
  timeShare: 0.5,
  shareWindowMs: 1000,
  outputBytes: 16 << 20,
  outputEvents: 65_536,
  eventsPerSecond: 50_000,
  bytesPerSecond: 64 << 20,
  queueEvents: 1024,
  sourceBytes: 256 << 10,
  parametersBytes: 64 << 10,
};

/** Milliseconds of a call that are free for each event: how many come at once is the producer's doing. */
export const FREE_MS_PER_EVENT = 1;

/** Most input of one call: it stays in the processor's cache, and its deadline is meaningful. */
export const CHUNK_BYTES = 256 << 10;
export const CHUNK_EVENTS = 256;
/** Most bytes of events that a modulator is given while the transport is not ready, before it is asked for its output all the same. */
export const UNASKED_BYTES = 1 << 20;

/** Consecutive events of one run, and the bytes that hold exactly these. */
export interface RunChunk extends Stretch {
  /** Whether the bytes are reused once the call has returned. */
  readonly isLent: boolean;
}

/** A shared object's state, by the modulator's name for it. Without a state: a version that may be pulled. */
export interface ObjectState {
  readonly name: string;
  readonly version: number;
  /** JSON, or "". */
  readonly state: string;
}

/** A view of the producer's state. */
export interface ContextValue {
  readonly name: string;
  /** The value, as encoded by values.ts. */
  readonly value: Uint8Array;
}

/** A turn's input besides its events. */
export interface Turn {
  /** Whether the transport is ready for output. */
  readonly ready: boolean;
  /** Milliseconds since 1970, the same during the turn. */
  readonly timeMs: number;
  readonly emit: Emit;
  /** Indexes of the chunk's events that the modulator may let through, ascending, where known: it need not be given others. */
  readonly picks?: readonly number[] | undefined;
}

/** An installed modulator's description of itself. */
export interface Declared {
  /** The schema (.bfbs) of the output, if its type differs from the input's; unchecked. */
  readonly schema: Uint8Array | undefined;
  /** The schema (.bfbs) of the type that it was written for; undefined where it takes any; unchecked. */
  readonly reads: Uint8Array | undefined;
  /** The names of the services that it needs, all of which are granted. */
  readonly needs: readonly string[];
}

/** A modulator for a sandbox to run. */
export interface Program {
  /** Text of one ES module with a default class. */
  readonly source: string;
  /** JSON. */
  readonly parameters: string;
  readonly objects: readonly ObjectState[];
  /** Number of shared objects that the modulators before this one read. */
  readonly behind: number;
  /** The schemas (.bfbs) of the input's types, which are numbered from 1. None for opaque bytes, which are type 0. */
  readonly schemas: readonly Uint8Array[];
  /** Offers that the modulator may need; anything else is not offered. */
  readonly offers: readonly Offer[];
  readonly context: readonly ContextValue[];
  readonly timeMs: number;
}

/**
 * Takes events made with these versions of the shared objects: those of the modulators before it, then its own in their order. An urgent one comes alone. The bytes lie in memory that the sandbox will write
 * again: copy them first, and check the copy.
 *
 * @param type number of their type, unchecked; 0 for the declared one, and for opaque bytes
 */
export type Emit = (
  events: readonly Stretch[],
  versions: readonly number[],
  urgent: boolean,
  type: number,
) => void;

/** One modulator behind its wall. Every method throws a JechoError, after which only `dispose` may be called. */
export interface Sandbox {
  /** CPU time used so far. */
  readonly cpuMs: number;

  /** Memory in use, with garbage that was not collected yet; 0 without a wall. Measuring it takes time. */
  readonly heldBytes: number;

  /** Collects garbage now, for engines that wait with it. */
  collect?(): void;

  /** Interval of `period` as of the last call: milliseconds, from `LEAST_PERIOD_MS` on; 0 for none. */
  readonly periodMs: number;

  /** Events a second that it wants at most of a producer, after the last call; 0 for every event. */
  readonly mostPerSecond: number;

  /** Whether the class itself checks the types of its input. Known when it is installed. */
  readonly checksInput: boolean;

  /**
   * Evaluates the module, and finds out what its class declares: the part of an installation that parameters, objects and views have
   * no part in. An installation begins with it where it has not been done.
   */
  load(program: Program): void;

  /** Constructs the modulator. It must not be given events of a type that it cannot read. */
  install(program: Program): Declared;

  /** Adds a type of the input, with the next number. */
  addType(schema: Uint8Array): void;

  /** The reason why the modulator cannot read events of this type, if it says so. @param type its number; 0 for opaque bytes */
  mismatchOf(type: number): JechoError | undefined;

  /** Swaps the state of a shared object, and has the modulator check it. */
  update(object: ObjectState): void;

  /** Sets the versions that the next events were made with, as many as the program said. */
  behind(versions: readonly number[]): void;

  /** Swaps a view of the producer's state. */
  setContext(context: ContextValue): void;

  /** The modulator's calls since the last time, encoded by values.ts; undefined for none. Unchecked. */
  takeCalls(): Uint8Array | undefined;

  /**
   * Hands the events to `enqueue`, and what `dequeue` returns to `emit` where the transport is ready.
   *
   * @param chunk at most `CHUNK_EVENTS` events, and `CHUNK_BYTES` unless it is a single one; empty to take waiting ones only
   * @param type the number of their type
   * @returns number of events that the modulator's full queue dropped
   */
  run(chunk: RunChunk, type: number, turn: Turn): number;

  /** Number of events since the oldest one that waits in the modulator's queue, that one included; 0 where none waits. Unchecked. */
  readonly waiting: number;

  /** Calls `period`, and hands on what `dequeue` returns then. @returns as `run` */
  period(turn: Turn): number;

  /** Tells the modulator that it is removed. */
  remove(): void;

  dispose(): void;
}

/** Called before and after each call, so that a guard can end a call that the engine cannot. */
export interface Watch {
  enter(limitMs: number): void;
  leave(): void;
}

/** A program that will probably be installed again with other parameters, and how it is run. */
export interface Prepared {
  readonly program: Program;
  readonly limits: Limits;
  readonly watch: Watch;
}

/** Makes sandboxes. */
export interface Engine {
  readonly name: string;
  /** Whether the engine runs only text that the producer trusts: then the output need not be checked. */
  readonly isTrusted: boolean;
  /**
   * Prepares the next `create` while nobody waits. It may be called several times.
   *
   * @param next the program that is probably installed next
   */
  prepare(next?: Prepared): void | Promise<void>;
  /** @param program what will be installed in it */
  create(limits: Limits, watch: Watch, program: Program): Sandbox;
}

/** Layout of the memory that the two sides of a sandbox share, in 32-bit words. */
export const OUTBOX = {
  /** Word 0: events in the outbox. */
  count: 0,
  /** Word 1: events that the queue dropped since the last call. */
  dropped: 1,
  /** Word 2: size of an event that does not fit into the empty outbox, else 0. */
  wanted: 2,
  /** Word 3: milliseconds between the calls of `period`, 0 for none. */
  periodMs: 3,
  /** Word 4: calls that wait to be taken. */
  calls: 4,
  /** Word 5: number of events since the oldest one that waits in the modulator's queue, that one included; 0 where none waits. */
  waiting: 5,
  /** Words 6 and 7: a float64, events a second that the modulator wants at most, 0 for every event. */
  mostPerSecond: 6,
  /**
   * Then, for each event that was made: its version, or where the versions lie if there may be several, start and end in bytes, and
   * its flags: `type` times the number of its type, and `urgent`. For events in a row that leave as they came in: the same, with
   * `passed` in the flags, and instead of bytes the index of the first one in its chunk, and that behind the last one.
   */
  records: 8,
  recordWords: 4,
  urgent: 1,
  passed: 2,
  type: 4,
  maxRecords: 4096,
  /** After `load`, instead of all these: the bytes of each of three parts that lie one behind the other where events do. */
  parts: 8,
} as const;

/** Bytes of the outbox before its events. */
export const OUTBOX_HEAD = 8 * Math.ceil((4 * (OUTBOX.records + OUTBOX.recordWords * OUTBOX.maxRecords)) / 8);

/** Shortest period, in milliseconds. */
export const LEAST_PERIOD_MS = 10;
/** Longest period, in milliseconds, that a timer takes. */
const LONGEST_PERIOD_MS = 0x7fff_ffff;

/** The interval of `period` for this `periodMs`; 0 for none. */
export function soundPeriod(periodMs: number): number {
  if (periodMs === 0) return 0;
  return periodMs > LEAST_PERIOD_MS
    ? periodMs < LONGEST_PERIOD_MS
      ? periodMs
      : LONGEST_PERIOD_MS
    : LEAST_PERIOD_MS;
}

/** Values that `proceed` returns. */
export const PROCEED = { done: 0, more: 1 } as const;
