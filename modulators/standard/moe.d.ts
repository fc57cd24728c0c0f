/** The module that the sandbox offers to modulators; refer to this file from a modulator's source for the types. */
declare module "jecho:moe" {
  type Objects = Readonly<Record<string, unknown>>;

  /** The argument of a modulator's constructor. */
  export interface Moe<O = Objects> {
    /** The present state of each shared object, by name. */
    readonly objects: O;
    /** Events that the queue of a `FifoModulator` holds. */
    readonly queueEvents: number;
    /** Whether a lazy copy of an object has a newer state than `objects` shows. */
    readonly isStale: (name: string & keyof O) => boolean;
    /** Asks for the newest state of a lazy copy, which is there in a later call; nothing where there is no newer one. */
    readonly pull: (name: string & keyof O) => void;
    /**
     * Views of the producer's state (`needs`: "context.NAME"), as they were when it raised the first event of a batch;
     * undefined where it could not give one.
     */
    readonly context: Readonly<Record<string, Value | undefined>>;
    /** Functions that the producer offers ("services.NAME"). They run here, and use nothing but their arguments. */
    readonly services: Readonly<Record<string, (...values: never[]) => unknown>>;
    /**
     * Steer the producer ("controls.NAME"): calls go out when the turn has ended well, at most 64 calls and 64 KiB of
     * them a turn. They throw where an argument is no Value.
     */
    readonly controls: Readonly<Record<string, (...values: Value[]) => void>>;
    /** Milliseconds since 1970 at the producer, the same during a call ("clock"). */
    readonly clock: () => number;
    /** 32 bytes that nobody can guess, the same for the life of this sandbox ("entropy"). */
    readonly entropy: () => Uint8Array;
    /** A line for the producer's log, of at most 1000 characters ("log"). */
    readonly log: (line: string) => void;
    /** A generator of numbers from 0 to below 1, the same ones for the same seed ("random"). Default: any seed. */
    readonly random: (seed?: number) => () => number;
    /** Events so far, in this sandbox ("statistics"). */
    readonly statistics: () => { enqueued: number; dequeued: number; dropped: number };
  }

  type Value = number | boolean | string | ArrayBufferView;

  /**
   * A consumer's code inside the producer. Optional statics: `periodMs`, `mostPerSecond`, `input`, the type that it was written for
   * (then it reads by the names of that, whatever producers write), `output`, where it makes events of another type than it
   * takes, both as `{ name, description }` or as a compiled FlatBuffers schema (see "jecho:fbs"), `check(parameters, objects)`, which throws where it cannot work with these,
   * `checkInput(fields, parameters)`, which throws where it cannot do with events of such fields, by name the words of type descriptions
   * ("float32[]"; a table's is its name; no fields at all on an untyped channel): it is then given none of them, and its consumers are told, and
   * `needs`, the names of services that it cannot do without, each the path under `moe` where it finds it; where one is not
   * offered or not granted, it is not installed. `keepsEvents = false` says that it keeps no event, and no typed array out of one,
   * beyond the call that the event came with, save in a `FifoModulator`'s queue: a producer that runs it in its own process then
   * need not copy events for it, and the event of one call may be the object that was that of the one before.
   */
  export class Modulator<Event extends object = object, P = unknown, O = Objects> {
    constructor(parameters: P, moe: Moe<O>);
    /** Frozen. */
    readonly parameters: P;
    /** The present state of each shared object, by name: frozen, the same one during a call. */
    readonly objects: O;
    /** Services of the MOE and the producer. */
    readonly moe: Moe<O>;
    /** Called once, before everything else, when the modulator is in place. What it makes goes out with the first event. */
    installed(): void;
    /** A producer raised an event: an accessor of the type `input`, else of its writer's, or a Uint8Array on an untyped channel. It stays valid. */
    enqueue(event: Event): void;
    /** The transport is ready: the next event, or undefined. */
    dequeue(): object | undefined;
    /** `periodMs` milliseconds have passed since the last call. */
    period(): void;
    /** Called last, when the last consumer has gone. Output goes nowhere from then on; calls reach the producer. */
    removed(): void;
  }

  // An interface, so that a class may have it as a property or as a getter.
  export interface Modulator<Event extends object = object, P = unknown, O = Objects> {
    /**
     * Milliseconds between calls of `period`, at least 10; 0, the default, for none. Also as a static. Read after each call, so it may
     * change, or follow a shared object as a getter.
     */
    periodMs?: number;
    /**
     * Events a second that it wants at most of a producer, which may then compute no more; 0, the default, for every event. It is
     * told, and nothing is held back for it. Also as a static. Read after each call, and when a shared object has changed, so that it
     * may follow one: `get mostPerSecond() { return this.objects.wanted.perSecond; }`.
     */
    mostPerSecond?: number;
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

  /** The same values as a plain object; typed arrays are still views on the event's bytes. */
  export function unpack<Event>(event: Event): Event;

  /**
   * The bytes of an event: as they lie where it came in, of its writer's type, else what the plain object is encoded to, as the type that
   * the class was written for (`static input`), or else that of the newest event that came in. A channel's producers may write several types.
   */
  export function bytesOf(event: object): Uint8Array;

  /**
   * Names the type of `bytesOf(event)`, with which a demodulator decodes it; without an event, that of the newest one that came in. 0n on an
   * untyped channel.
   */
  export function typeToken(event?: object): bigint;

  /**
   * The sum of a list's numbers, each as float64; 0 of none. The element i belongs to the partial sum p(i mod 8), and the sum is
   * ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)): the same bits wherever the modulator runs, which may differ from a plain loop's in the
   * last ones. Where it is compiled, several numbers are added at once.
   *
   * @throws TypeError where one of them is no number
   */
  export function sum(list: ArrayLike<number>): number;

  /** `sum(list) / list.length`; NaN of none. */
  export function mean(list: ArrayLike<number>): number;

  /** A type from a description, as in @jecho/shared. */
  export function type(name: string, description: object): object;
}

/** Types as text. It is loaded only where a modulator imports it. */
declare module "jecho:fbs" {
  /**
   * Compiles the text of a FlatBuffers schema, for `static input` and `static output`.
   *
   * @param root the table that events are, where the text does not say it by `root_type`
   */
  export function schemaFromFbs(text: string, root?: string): Uint8Array;
}
