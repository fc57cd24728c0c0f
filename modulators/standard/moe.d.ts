/** What the sandbox offers to modulators; refer to this file from a modulator's source for the types. */
declare module "jecho:moe" {
  type Objects = Readonly<Record<string, unknown>>;

  /** What the MOE hands to the constructor. */
  export interface Moe<O = Objects> {
    /** The present state of each shared object, by name. */
    readonly objects: O;
    /** Events that the queue of a `FifoModulator` holds. */
    readonly queueEvents: number;
  }

  /**
   * A consumer's code inside the producer. Optional statics: `periodMs`, `output = { name, description }` where it makes events of
   * another type than it takes, and `check(parameters, objects)`, which throws where it cannot work with these, and
   * `needs`, the names of services that it cannot do without: where one is not offered, it is not installed.
   */
  export class Modulator<Event extends object = object, P = unknown, O = Objects> {
    constructor(parameters: P, moe: Moe<O>);
    /** Frozen. */
    readonly parameters: P;
    /** The present state of each shared object, by name: frozen, the same one during a call. */
    readonly objects: O;
    /** Milliseconds between calls of `period`, at least 10; 0, the default, for none. Also as a static. May change. */
    periodMs: number;
    /** It is in place: comes once, before everything else. What it makes goes out with the first event. */
    installed(): void;
    /** A producer raised an event: an accessor of the base type, or a Uint8Array on an untyped channel. It stays valid. */
    enqueue(event: Event): void;
    /** The transport is ready: the next event, or undefined. */
    dequeue(): object | undefined;
    /** `periodMs` milliseconds have passed since the last call. */
    period(): void;
    /** The last consumer has gone: comes last. */
    removed(): void;
  }

  /** Marks an event, one that came in or a plain object, to be sent ahead of those that wait on their way. */
  export function urgent(event: object): object;

  /** First in, first out. A full queue drops its oldest event, and counts it. */
  export class FifoModulator<Event extends object = object, P = unknown, O = Objects> extends Modulator<
    Event,
    P,
    O
  > {
    /** @param event one that came in, to be passed on as it is, or a plain object, to be encoded as the output type */
    override enqueue(event: Event | object): void;
    /** Events that wait. */
    readonly length: number;
  }

  /** A type from a description, as in @jecho/shared. */
  export function type(name: string, description: object): object;
}
