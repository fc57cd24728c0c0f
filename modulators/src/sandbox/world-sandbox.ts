import { JechoError } from "@jecho/shared";
import type { Offer, Stretch } from "@jecho/shared/internal";
import { servicesModule } from "../authoring/delegate.ts";
import { NO_EVENTS } from "../running/chunks.ts";
import { fromInside, unsound } from "./failures.ts";
import {
  CHUNK_BYTES,
  CHUNK_EVENTS,
  type ContextValue,
  type Declared,
  type Emit,
  FREE_MS_PER_EVENT,
  type Limits,
  type ObjectState,
  OUTBOX,
  OUTBOX_HEAD,
  PROCEED,
  type Program,
  type RunChunk,
  type Sandbox,
  type Turn,
} from "./sandbox.ts";
import { decodeValues } from "./values.ts";

/** The world's functions that the host calls. */
export const FUNCTIONS = [
  "attach",
  "load",
  "further",
  "reads",
  "update",
  "behind",
  "start",
  "run",
  "proceed",
  "period",
  "remove",
  "serve",
  "calls",
  "context",
] as const;
export type FunctionName = (typeof FUNCTIONS)[number];
export type Parameter = number | string | boolean;

/** The names that a modulator may import from the world; evaluated before the world is sealed. */
export const FACE =
  "export const { bytesOf, FifoModulator, Modulator, mean, sum, type, typeToken, unpack, urgent } = jechoWorld;";

/** Initial memory of a world for events. */
export const IN_BYTES = CHUNK_BYTES + 16 * CHUNK_EVENTS;
export const OUT_BYTES = OUTBOX_HEAD + CHUNK_BYTES;

const NO_ENTROPY = new Uint8Array(0);
/** Views to read a float64 out of two words. */
const RATE = new Float64Array(1);
const RATE_WORDS = new Uint32Array(RATE.buffer);

/** An engine's realm: a world, its functions, and memory that both sides see. */
export interface Realm {
  readonly cpuMs: number;
  /** Memory that it takes now. */
  readonly heldBytes: number;
  /** Collects garbage. */
  collect?(): void;
  /** The world's present memory for events; its address may change with each call. */
  readonly inbox: Uint8Array;
  readonly outbox: Uint8Array;
  /** The outbox again, as words. */
  readonly words: Uint32Array;
  /** Direct access, only without a wall. */
  readonly direct?: Direct;

  /** Gives the world memory of these sizes in bytes, multiples of 8. */
  attach(inBytes: number, outBytes: number): void;

  /** Evaluates the module of the services, and hands its namespace to `serve`. */
  serve(source: string): void;

  /** Evaluates the modulator's module. Calls of `load` are given its namespace. */
  evaluate(source: string): void;

  /** @returns a number, or the text of an error; anything else is a failure of the sandbox */
  call(name: FunctionName, parameters: readonly Parameter[], limitMs: number): unknown;

  dispose(): void;
}

/** Direct access to the producer's memory, for trusted worlds. */
export interface Direct {
  /** Like the world's `run`, on events in the producer's memory. */
  run(chunk: RunChunk, type: number, ready: boolean, timeMs: number): unknown;
  /** Hands on the output of the last calls without a copy. */
  flush(emit: Emit): void;
}

/** A sandbox on any engine. Only numbers, text, and events as bytes in shared memory cross its wall. */
export class WorldSandbox implements Sandbox {
  readonly #realm: Realm;
  readonly #limits: Limits;
  /** Number of versions of each event: of the objects of the modulators before it, and of its own. */
  #versions = 0;
  /** Whether events have at most one version, of an object of its own. */
  #isPlain = true;
  /** The description that the class gives of itself, once loaded. */
  #declared: Declared | undefined;
  #checksInput = false;

  constructor(realm: Realm, limits: Limits) {
    this.#realm = realm;
    this.#limits = limits;
  }

  get cpuMs(): number {
    return this.#realm.cpuMs;
  }

  get heldBytes(): number {
    return this.#realm.heldBytes;
  }

  collect(): void {
    this.#realm.collect?.();
  }

  get checksInput(): boolean {
    return this.#checksInput;
  }

  load({ source, schemas: [schema], offers }: Program): void {
    const realm = this.#realm;
    const services = servicesModule(offers);
    if (services !== undefined) realm.serve(services);
    realm.evaluate(source);
    if (realm.inbox.byteLength < IN_BYTES) realm.attach(IN_BYTES, OUT_BYTES);
    const schemaBytes = schema === undefined ? 0 : this.#give(schema);
    const offered = offers.map(({ name, granted }) => `${granted ? "+" : "-"}${name}`).join();
    try {
      const parameters = [schemaBytes, offered, this.#limits.queueEvents];
      this.#checksInput = this.#call("load", parameters, this.#limits.installMs) === 1;
    } catch (error) {
      throw serviceError(error, offers);
    }
    const [declared, reads, needed] = this.#parts();
    const needs = needed === undefined ? [] : decodeValues(needed).map(({ name }) => name);
    this.#declared = { schema: declared, reads, needs };
  }

  install(program: Program): Declared {
    const { parameters, objects, behind, schemas, context, timeMs } = program;
    const { installMs } = this.#limits;
    const realm = this.#realm;
    this.#versions = behind + objects.length;
    this.#isPlain = behind === 0 && objects.length <= 1;
    if (this.#declared === undefined) this.load(program);
    const declared = this.#declared as unknown as Declared;
    const { needs } = declared;
    for (let i = 1; i < schemas.length; i++) this.addType(schemas[i] as Uint8Array);
    for (const view of context) if (needs.includes(view.name)) this.setContext(view);
    const entropy = needs.includes("entropy") ? crypto.getRandomValues(new Uint8Array(32)) : NO_ENTROPY;
    if (entropy.byteLength > 0) realm.inbox.set(entropy);
    const states = JSON.stringify(objects.map(({ name, version, state }) => [name, version, state]));
    const numbers = [timeMs, entropy.byteLength, behind];
    this.#call("start", [parameters, states, ...numbers], installMs);
    return declared;
  }

  addType(schema: Uint8Array): void {
    this.#call("further", [this.#give(schema)], this.#limits.installMs);
  }

  mismatchOf(type: number): JechoError | undefined {
    try {
      this.#call("reads", [type], this.#limits.callMs);
      return undefined;
    } catch (error) {
      if (error instanceof JechoError && error.code === "TYPE_MISMATCH") return error;
      throw error;
    }
  }

  update({ name, version, state }: ObjectState): void {
    this.#call("update", [name, version, state], this.#limits.callMs);
  }

  behind(versions: readonly number[]): void {
    this.#call("behind", [JSON.stringify(versions)], this.#limits.callMs);
  }

  setContext({ name, value }: ContextValue): void {
    this.#call("context", [name, this.#give(value)], this.#limits.callMs);
  }

  /** Writes bytes to the inbox. @returns their number */
  #give(bytes: Uint8Array): number {
    const realm = this.#realm;
    if (bytes.byteLength > realm.inbox.byteLength)
      realm.attach(alignUp8(bytes.byteLength), realm.outbox.byteLength);
    realm.inbox.set(bytes);
    return bytes.byteLength;
  }

  takeCalls(): Uint8Array | undefined {
    if (this.#realm.words[OUTBOX.calls] === 0) return undefined;
    return this.#taken(this.#call("calls", [], this.#limits.callMs));
  }

  get periodMs(): number {
    return this.#realm.words[OUTBOX.periodMs] as number;
  }

  get waiting(): number {
    return this.#realm.words[OUTBOX.waiting] as number;
  }

  get mostPerSecond(): number {
    const { words } = this.#realm;
    RATE_WORDS[0] = words[OUTBOX.mostPerSecond] as number;
    RATE_WORDS[1] = words[OUTBOX.mostPerSecond + 1] as number;
    const rate = RATE[0] as number;
    return rate > 0 && rate < Number.POSITIVE_INFINITY ? rate : 0;
  }

  run(chunk: RunChunk, type: number, turn: Turn): number {
    const { ready, timeMs } = turn;
    const { direct } = this.#realm;
    const status =
      direct === undefined
        ? this.#call("run", [this.#fill(chunk), chunk.end, ready, timeMs, type], this.#runMs(chunk))
        : numberOf(direct.run(chunk, type, ready, timeMs));
    return this.#finish(status, turn, chunk, type);
  }

  /** Deadline of a call with these events. */
  #runMs({ end: events }: RunChunk): number {
    return this.#limits.callMs + FREE_MS_PER_EVENT * events;
  }

  period(turn: Turn): number {
    const status = this.#call("period", [turn.ready, turn.timeMs], this.#limits.callMs);
    return this.#finish(status, turn, NO_EVENTS, 0);
  }

  remove(): void {
    this.#call("remove", [], this.#limits.callMs);
  }

  dispose(): void {
    this.#realm.dispose();
  }

  /**
   * Hands on the outbox's events, until the world has no more.
   *
   * @param chunk the input, of this type
   * @returns number of events that the queue dropped
   */
  #finish(first: number, { ready, emit }: Turn, chunk: RunChunk, type: number): number {
    let status = first;
    let dropped = 0;
    for (;;) {
      const words = this.#realm.words;
      dropped += words[OUTBOX.dropped] as number;
      const count = words[OUTBOX.count] as number;
      if (count > 0) this.#collect(words, count, emit, chunk, type);
      if (status === PROCEED.done) {
        this.#realm.direct?.flush(emit);
        return dropped;
      }
      if (count === 0) this.#widen(words[OUTBOX.wanted] as number);
      status = this.#call("proceed", [ready], this.#limits.callMs);
    }
  }

  /** The three parts that `load` left in the outbox. Every number is read once and then checked. */
  #parts(): [Uint8Array | undefined, Uint8Array | undefined, Uint8Array | undefined] {
    const { outbox, words } = this.#realm;
    let at = OUTBOX_HEAD;
    const take = (part: number): Uint8Array | undefined => {
      const bytes = words[OUTBOX.parts + part] as number;
      const start = at;
      at += bytes;
      if (at > outbox.byteLength) throw unsound();
      return bytes === 0 ? undefined : outbox.slice(start, at);
    };
    return [take(0), take(1), take(2)];
  }

  /** Bytes that the world left in the outbox. */
  #taken(bytes: number): Uint8Array | undefined {
    const { outbox } = this.#realm;
    if (OUTBOX_HEAD + bytes > outbox.byteLength) throw unsound();
    return bytes === 0 ? undefined : outbox.slice(OUTBOX_HEAD, OUTBOX_HEAD + bytes);
  }

  /** Writes the events into the inbox, behind a table of where each begins and ends. */
  #fill({ bytes, bounds, end: count }: RunChunk): number {
    if (count === 0) return 0;
    const first = bounds[0] as number;
    const last = bounds[2 * count - 1] as number;
    const shift = 8 * count - first;
    const end = last + shift;
    const realm = this.#realm;
    if (end > realm.inbox.byteLength) realm.attach(alignUp8(end), realm.outbox.byteLength);
    const { inbox } = realm;
    const table = new Uint32Array(inbox.buffer, inbox.byteOffset, 2 * count);
    for (let i = 0; i < 2 * count; i++) table[i] = (bounds[i] as number) + shift;
    inbox.set(bytes.subarray(first, last), 8 * count);
    return end;
  }

  /** Hands on the outbox's events. Every number in it is read once and then checked. */
  #collect(words: Uint32Array, count: number, emit: Emit, chunk: RunChunk, input: number): void {
    const { outbox } = this.#realm;
    if (count > OUTBOX.maxRecords) throw unsound();
    /** Bounds of the made events. */
    const bounds: number[] = [];
    let events: (Stretch & { end: number })[] = [];
    let version = 0;
    let versions: readonly number[] = [];
    /** The flags that all of them have. */
    let flags = 0;
    let last = OUTBOX_HEAD;
    const send = (): void => {
      if (events.length > 0) emit(events, versions, (flags & OUTBOX.urgent) !== 0, typeOf(flags));
      events = [];
    };
    for (let i = 0; i < count; i++) {
      const record = OUTBOX.records + OUTBOX.recordWords * i;
      const made = words[record] as number;
      const start = words[record + 1] as number;
      const end = words[record + 2] as number;
      const said = words[record + 3] as number;
      const passes = (said & OUTBOX.passed) !== 0;
      const alike = passes ? said - OUTBOX.passed : said;
      if (made !== version || alike !== flags || (alike & OUTBOX.urgent) !== 0) send();
      if (i === 0 || made !== version) versions = this.#versionsOf(made, words);
      version = made;
      flags = alike;
      if (passes) {
        if (start >= end || end > chunk.end || typeOf(alike) !== input) throw unsound();
        events.push({ bytes: chunk.bytes, bounds: chunk.bounds, first: start, end });
        continue;
      }
      if (start % 8 !== 0 || start < last || end < start || end > outbox.byteLength) throw unsound();
      last = end;
      const at = bounds.length / 2;
      bounds.push(start, end);
      const newest = events.at(-1);
      if (newest?.bounds === bounds) newest.end = at + 1;
      else events.push({ bytes: outbox, bounds, first: at, end: at + 1 });
    }
    send();
  }

  /** The versions that a record names. */
  #versionsOf(made: number, words: Uint32Array): readonly number[] {
    if (this.#isPlain) return this.#versions === 0 ? [] : [made];
    const first = made / 4;
    if (made % 8 !== 0 || made < OUTBOX_HEAD || first + this.#versions > words.length) throw unsound();
    return Array.from(words.subarray(first, first + this.#versions));
  }

  /** Gives the world more memory for an event that is larger than the outbox. */
  #widen(wanted: number): void {
    if (wanted > this.#limits.outputBytes) {
      throw new JechoError(
        "MODULATOR_OUTPUT_EXCEEDED",
        `an event of ${wanted} bytes; a batch may make ${this.#limits.outputBytes}`,
      );
    }
    const bytes = OUTBOX_HEAD + alignUp8(4 * this.#versions) + alignUp8(wanted);
    if (bytes <= this.#realm.outbox.byteLength) throw unsound();
    this.#realm.attach(this.#realm.inbox.byteLength, bytes);
  }

  #call(name: FunctionName, parameters: readonly Parameter[], limitMs: number): number {
    return numberOf(this.#realm.call(name, parameters, limitMs));
  }
}

/** Completes the error for a service that is missing or not granted: which ones there are, or what it takes. */
function serviceError(error: unknown, offers: readonly Offer[]): unknown {
  const { code, message: name } = error as JechoError;
  if (code === "SERVICE_MISSING") {
    // The MOE's own services are offered by every producer.
    const isOwn = (offer: Offer): number => (offer.name.includes(".") ? 0 : 1);
    const all = offers.toSorted((a, b) => isOwn(a) - isOwn(b)).map(offer => offer.name);
    return new JechoError(code, `it needs "${name}", which is not offered here; what is: ${all.join(", ")}`);
  }
  if (code !== "SERVICE_NOT_GRANTED") return error;
  const { capability = "" } = offers.find(offer => offer.name === name) ?? {};
  const takes =
    capability === ""
      ? `its text has to have the word "controls"`
      : `its consumer has to have the capability "${capability}"`;
  return new JechoError(code, `it needs "${name}", for which ${takes}`);
}

/** The number of the type in a record's flags. */
function typeOf(flags: number): number {
  return Math.floor(flags / OUTBOX.type);
}

/** @throws JechoError the error that the world reports */
function numberOf(result: unknown): number {
  if (typeof result === "string") throw fromInside(result);
  if (typeof result !== "number") throw unsound();
  return result;
}

function alignUp8(value: number): number {
  return 8 * Math.ceil(value / 8);
}
