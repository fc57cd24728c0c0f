import { JechoError, type Type } from "@jecho/shared";
import {
  type Accessor,
  accessorBytes,
  createReader,
  encode,
  encodeInto,
  measure,
  type ObjectType,
  type ReadEvent,
  typeOf,
} from "@jecho/shared/internal";
import { fieldKinds } from "../field-kinds.ts";
import { declaredType, inputType, readerOf } from "../made-types.ts";
import type { Memory } from "./memory.ts";
import {
  Bytes,
  clip,
  freeze,
  getPrototypeOf,
  isArray,
  isBytes,
  keys,
  objectPrototype,
  promisePrototype,
  recall,
  remember,
  View,
  Words,
} from "./primordials.ts";

/*
 * Events inside the sandbox: accessors over bytes that belong to the modulator alone. An event that it keeps stays as it is, and nobody else sees
 * what it writes to one: an event that passes at once leaves as the host has it.
 */

/**
 * Position and type of the events in a block of bytes. It has no reference to the bytes or their buffer: QuickJS never frees a key of a WeakMap
 * that its own value refers to, and V8 only when it collects the old generation.
 */
interface Source {
  /** Start and end of each event, ascending; the first `count` of them. */
  readonly bounds: ArrayLike<number>;
  count: number;
  /** Index of the event that probably leaves next, for events leave in order. */
  next: number;
  readonly type: KnownType | undefined;
}

/** A type of the events in here. */
interface KnownType {
  /** Number among the input's types, from 1; 0 for the type that the class makes. */
  readonly number: number;
  readonly object: ObjectType;
  readonly read: ReadEvent;
  token: bigint | undefined;
  /** Memory that events of this type are encoded in. */
  block: Block | undefined;
}

/** The position of an event. */
export interface Located {
  readonly bytes: Uint8Array;
  /** Start and end of each event there. */
  readonly bounds: ArrayLike<number>;
  /** Index of the event; that of a run's newest event moves on with the run. */
  index: number;
  /** The number of its type; 0 for the one that the class makes, and for opaque bytes. */
  readonly type: number;
}

const sources = new WeakMap<Uint8Array, Source>();
/** Events of one run are looked up one after the other. */
let newest: Source | undefined;
let newestBytes: Uint8Array | undefined;

const blank = () => ({
  /** The input's types in the order of their numbers: producers may write several. */
  inTypes: [] as KnownType[],
  /** Type of the newest run; undefined where its events are opaque bytes. */
  inType: undefined as KnownType | undefined,
  /** The type that the class was written for; undefined for any. */
  readType: undefined as Type | undefined,
  /** The output's type, where the class declares it, or else the type that it was written for. */
  madeType: undefined as KnownType | undefined,
  /** Whether all output has that type; otherwise input events may pass unchanged. */
  makesOne: false,
});
let { inTypes, inType, readType, madeType, makesOne } = blank();

export const eventsMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => ({ inTypes, inType, readType, madeType, makesOne }),
  enter: memory => {
    ({ inTypes, inType, readType, madeType, makesOne } = memory);
  },
};

/**
 * @param schema of the input's first type
 * @param input the class's declaration of its input, if any: a name with a description, the text of a schema, or a type
 * @param output its declaration of its output, in the same form
 * @returns that
 */
export function setTypes(schema: Uint8Array | undefined, input: unknown, output: unknown): Type | undefined {
  readType = input === undefined ? undefined : declaredType(input, "input");
  inTypes.length = 0;
  inType = undefined;
  if (schema !== undefined) {
    addType(schema);
    inType = inTypes[0];
  }
  const declared = output === undefined ? undefined : declaredType(output, "output");
  makesOne = declared !== undefined;
  const made = declared ?? readType;
  madeType = made && knownType(made.root, 0, readerOf(made.root));
  return declared;
}

/** The schema of the type that the class was written for. */
export function readSchema(): Uint8Array | undefined {
  return readType?.schema;
}

/** Adds a type of the input, with the next number. */
export function addType(schema: Uint8Array): void {
  const object = inputType(schema);
  const read = readType === undefined ? readerOf(object) : readerAs(object, readType.root);
  inTypes[inTypes.length] = knownType(object, inTypes.length + 1, read);
}

/**
 * The fields of this type that the modulator can read: see `fieldKinds`.
 *
 * @param type its number
 * @returns undefined for opaque bytes
 */
export function fieldsOf(type: number): object | undefined {
  const known = type === 0 ? undefined : inTypes[type - 1];
  if (known === undefined) return undefined;
  return freeze(fieldKinds(readType === undefined ? known.object : readType.root));
}

function knownType(object: ObjectType, number: number, read: ReadEvent): KnownType {
  return { number, object, read, token: undefined, block: undefined };
}

/** The host finds a mismatch as well, and gives the modulator no such event. */
function readerAs(writer: ObjectType, reader: ObjectType): ReadEvent {
  try {
    return createReader(writer, reader);
  } catch (mismatch) {
    return () => {
      throw mismatch;
    };
  }
}

/*
 * Private names (#x) differ between the worlds of one engine, and their shared compiled code has to look them up. So the fields that every event
 * touches have plain names.
 */

/** A run of input events; `bounds` has the start and end of each. The bytes are the modulator's own. */
export interface Chunk {
  readonly count: number;
  readonly type: KnownType | undefined;
  readonly view: DataView;
  readonly source: Source;
  readonly mayPass: boolean;
  /** Whether the modulator keeps none of its events, so that one object can stand for each in turn. */
  readonly isFleeting: boolean;
  /** The one object for all events, while nobody has taken it. */
  fleeting: object | undefined;
  /** Position of the newest event, and the event itself if it may pass unchanged: most pass at once or never. */
  readonly at: Located;
  newest: object;
  /** Number of the run's events that have been counted as given to the modulator. */
  counted: number;
  /** Index of the first event that was let through and has not left; beyond the last one for none. */
  leaving: number;
}

const NOTHING = {};
const NO_EVENTS = chunkOf(new Bytes(0), [], 0, undefined, false, false);
/** The run that the modulator is being given. */
let current = NO_EVENTS;

/**
 * @param type number of its events' type, also of the events made from now on; 0 for opaque bytes
 * @param isFleeting whether the modulator keeps none of them
 */
export function openChunk(
  bytes: Uint8Array,
  bounds: ArrayLike<number>,
  count: number,
  type: number,
  isFleeting: boolean,
): Chunk {
  inType = type === 0 ? undefined : inTypes[type - 1];
  const mayPass = inType === undefined ? madeType === undefined : !makesOne;
  current = chunkOf(bytes, bounds, count, inType, mayPass, isFleeting);
  // If none of its events is kept, a run is forgotten when it is over.
  if (!isFleeting) remember(sources, bytes, current.source);
  return current;
}

/** The modulator has been given all of its events. */
export function closeChunk(): void {
  current = NO_EVENTS;
}

function chunkOf(
  bytes: Uint8Array,
  bounds: ArrayLike<number>,
  count: number,
  type: KnownType | undefined,
  mayPass: boolean,
  isFleeting: boolean,
): Chunk {
  const view = new View(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = { bytes, bounds, index: -1, type: type?.number ?? 0 };
  const source = { bounds, count, next: 0, type };
  return {
    count,
    type,
    view,
    source,
    mayPass,
    isFleeting,
    fleeting: undefined,
    at,
    newest: NOTHING,
    counted: 0,
    leaving: count,
  };
}

/** Numbers of events that the modulator was given and let through, as far as not counted yet. */
export function uncounted(): { enqueued: number; dequeued: number } {
  const { at, counted, leaving } = current;
  return { enqueued: at.index + 1 - counted, dequeued: leaving < at.index ? at.index - leaving : 0 };
}

export function eventOf(chunk: Chunk, i: number): object {
  const { at, fleeting } = chunk;
  at.index = i;
  const start = at.bounds[2 * i] as number;
  if (fleeting === undefined) return newEvent(chunk, start);
  moveEvent(fleeting, chunk.view, start);
  return fleeting;
}

function newEvent(chunk: Chunk, start: number): object {
  const { type, view, at } = chunk;
  const { bytes, bounds, index } = at;
  const event =
    type === undefined
      ? new Bytes(bytes.buffer, bytes.byteOffset + start, (bounds[2 * index + 1] as number) - start)
      : type.read(view, bytes, start);
  if (chunk.mayPass) chunk.newest = event;
  if (chunk.isFleeting && type !== undefined) chunk.fleeting = event;
  return event;
}

/** Moves an event object to another event of the same bytes. */
function moveEvent(event: object, view: DataView, start: number): void {
  const moved = event as { -readonly [name in keyof Accessor]: Accessor[name] };
  moved["@at"] = start + view.getUint32(start, true);
}

/** Has this event object stay at its event. */
export function hold(event: object): void {
  if (event !== current.fleeting) return;
  current.fleeting = undefined;
  remember(sources, current.at.bytes, current.source);
}

/** The event that `enqueue` was given last, if it may pass unchanged; otherwise an object that equals none. */
export function newestEvent(): object {
  return current.newest;
}

/** Whether these are the bytes of the run that the modulator is given now. */
export function areOfRun(bytes: Uint8Array): boolean {
  return bytes === current.at.bytes;
}

/** The position of this event, if it may pass unchanged. */
export function passed(event: object): Located | undefined {
  const { newest, at } = current;
  return event === newest ? at : undefined;
}

/**
 * An event that may leave: the input event itself where the class declares no other type; otherwise the described event, encoded as the
 * type that the class makes, or as the newest input's type.
 */
export function toOutput(value: object): object {
  if (value === current.newest) return value;
  if (typeof value !== "object" || value === null)
    throw new TypeError(`an event is wanted, not ${value === null ? "null" : typeof value}`);
  const found = accessorBytes(value);
  const type = found && sourceOf(found.bytes)?.type;
  if (type !== undefined && (!makesOne || type === madeType)) return value;
  const written = madeType ?? inType;
  if (written !== undefined) return encodeOutput(written, value);
  if (!isBytes(value)) throw new TypeError("an event of an untyped channel is a Uint8Array");
  return value;
}

function sourceOf(bytes: Uint8Array): Source | undefined {
  if (bytes === current.at.bytes) return current.source;
  if (newestBytes !== bytes) {
    newest = recall(sources, bytes);
    newestBytes = bytes;
  }
  return newest;
}

/**
 * The bytes of an event: of an input event its own; a plain object is encoded as the type that the class was written for, or else as the newest
 * input's type. Together with `typeToken` they are an event wherever that type is known.
 */
export function bytesOf(event: object): Uint8Array {
  const found = accessorBytes(event);
  const source = found && cameIn(found.bytes);
  if (found !== undefined && source !== undefined) {
    const { bytes, bounds, index } = locateIn(source, found);
    const start = bounds[2 * index] as number;
    return new Bytes(bytes.buffer, bytes.byteOffset + start, (bounds[2 * index + 1] as number) - start);
  }
  const written = readType?.root ?? inType?.object;
  if (written !== undefined) return encode(written, event);
  if (!isBytes(event)) throw new TypeError("an event of an untyped channel is a Uint8Array");
  return event;
}

/** Token of the type of `bytesOf(event)`; without an event, of the newest input's type. 0n for opaque bytes. */
export function typeToken(event?: object): bigint {
  const found = event === undefined ? undefined : accessorBytes(event);
  const source = found && cameIn(found.bytes);
  if (event !== undefined && source === undefined && readType !== undefined) return readType.token;
  const known = source?.type ?? inType;
  if (known === undefined) return 0n;
  known.token ??= typeOf(known.object).token;
  return known.token;
}

/** The source of a block of bytes with input events. */
function cameIn(bytes: Uint8Array): Source | undefined {
  const source = sourceOf(bytes);
  return source?.type === undefined || source.type === madeType ? undefined : source;
}

// Encoded events share blocks of memory: one allocation each would cost more than the encoding.
const BLOCK_BYTES = 64 << 10;
const BLOCK_EVENTS = 512;

interface Block {
  readonly bytes: Uint8Array;
  readonly bounds: Uint32Array;
  readonly source: Source;
  readonly view: DataView;
  at: number;
}

/** Reading a value may run the modulator's code, which must not encode another event meanwhile. */
let isEncoding = false;

function encodeOutput(type: KnownType, value: object): object {
  if (isEncoding) throw new TypeError("an event was made while another one was read");
  isEncoding = true;
  try {
    checkEvent(type.object, value);
    return encodeNext(type, value);
  } catch (thrown) {
    // The error is found deep in here, and engines keep the innermost places only: the author is to see their own.
    throw thrown instanceof JechoError ? new TypeError(thrown.message) : thrown;
  } finally {
    isEncoding = false;
  }
}

/** A list, a promise, or an object with other fields only would be encoded as an event of defaults. */
function checkEvent({ name, fields }: ObjectType, value: object): void {
  for (let i = 0; i < fields.length; i++)
    if ((value as Record<string, unknown>)[(fields[i] as { name: string }).name] !== undefined) return;
  if (fields.length === 0 || (getPrototypeOf(value) === objectPrototype && keys(value).length === 0)) return;
  let names = "";
  for (let i = 0; i < fields.length; i++)
    names += `${i === 0 ? "" : ", "}${(fields[i] as { name: string }).name}`;
  const found = isArray(value)
    ? "a list"
    : getPrototypeOf(value) === promisePrototype
      ? "a promise"
      : "an object without any of them";
  throw new TypeError(`an event of ${name} has its fields (${clip(names, 500)}), and this is ${found}`);
}

function encodeNext(type: KnownType, value: object): object {
  const room = measure(type.object, value);
  let { block } = type;
  if (block === undefined || block.at + room > block.view.byteLength || block.source.count === BLOCK_EVENTS) {
    const bytes = new Bytes(room > BLOCK_BYTES ? room + 8 : BLOCK_BYTES);
    const bounds = new Words(2 * BLOCK_EVENTS);
    const source = { bounds, count: 0, next: 0, type };
    remember(sources, bytes, source);
    block = { bytes, bounds, source, view: new View(bytes.buffer), at: 0 };
    type.block = block;
  }
  const { bytes, bounds, source, view, at } = block;
  const end = encodeInto(type.object, value, bytes, view, at, at + room);
  bounds[2 * source.count] = at;
  bounds[2 * source.count + 1] = end;
  source.count++;
  block.at = (end + 7) & -8;
  return type.read(view, bytes, at);
}

/** The position of an event that may leave, or of the encoded `value`. */
export function locateOutput(value: object): Located {
  const event = toOutput(value);
  const found = accessorBytes(event);
  if (found === undefined) {
    const bytes = event as Uint8Array;
    return { bytes, bounds: [0, bytes.byteLength], index: 0, type: 0 };
  }
  return locateIn(sourceOf(found.bytes) as Source, found);
}

function locateIn(
  source: Source,
  { bytes, position }: { readonly bytes: Uint8Array; readonly position: number },
): Located {
  const { bounds, count, next, type } = source;
  let low = next;
  const isNext =
    next < count && position >= (bounds[2 * next] as number) && position < (bounds[2 * next + 1] as number);
  if (!isNext) {
    low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((bounds[2 * middle] as number) <= position) low = middle;
      else high = middle - 1;
    }
  }
  source.next = low + 1;
  return { bytes, bounds, index: low, type: type?.number ?? 0 };
}
