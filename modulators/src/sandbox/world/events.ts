import { type Description, Type, type } from "@jecho/shared";
import {
  accessorBytes,
  createReader,
  encode,
  encodeInto,
  measure,
  type ObjectType,
  type ReadEvent,
  readBfbs,
} from "@jecho/shared/internal";
import { Bytes, isBytes, recall, remember, View, Words } from "./primordials.ts";

/*
 * Events inside the sandbox. They are accessors over bytes that belong to the modulator alone, so that one that it
 * holds stays as it is, and one that it writes to is its own loss.
 */

/** Bytes that hold events: where each lies, and of which type they are. */
interface Source {
  readonly bytes: Uint8Array;
  /** Start and end of each event, ascending; the first `count` of them. */
  readonly bounds: Uint32Array;
  count: number;
  /** Which event is looked for next, most likely: they leave in their order. */
  next: number;
  readonly type: ObjectType | undefined;
}

/** Where an event's bytes lie. */
export interface Located {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const sources = new WeakMap<Uint8Array, Source>();
/** Events of one run are looked up one after the other. */
let newest: Source | undefined;
let inType: ObjectType | undefined;
let outType: ObjectType | undefined;
let readIn: ReadEvent | undefined;
let readOut: ReadEvent | undefined;

/** @param output what the class declares: a name with a description, or a type */
export function setTypes(schema: Uint8Array | undefined, output: unknown): Type | undefined {
  // Not as a Type: its token would have to be computed, which takes a third of the time of an installation.
  inType = schema === undefined ? undefined : readBfbs(schema);
  const declared =
    output === undefined ? undefined : output instanceof Type ? output : typeFrom(output as TypeDescription);
  outType = declared?.root ?? inType;
  readIn = inType === undefined ? undefined : createReader(inType);
  readOut = outType === inType || outType === undefined ? readIn : createReader(outType);
  return declared;
}

interface TypeDescription {
  readonly name: string;
  readonly description: Description;
}

function typeFrom({ name, description }: TypeDescription): Type {
  if (typeof name !== "string" || typeof description !== "object" || description === null) {
    throw new TypeError("static output is { name, description }");
  }
  return type(name, description);
}

/** A run of events as it came in: `bounds` says where in the bytes each lies. They are the modulator's own. */
export class Chunk {
  readonly count: number;
  readonly #source: Source;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, bounds: Uint32Array, count: number) {
    this.count = count;
    this.#source = { bytes, bounds, count, next: 0, type: inType };
    this.#view = new View(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    remember(sources, bytes, this.#source);
  }

  event(i: number): object {
    const { bytes, bounds } = this.#source;
    const start = bounds[2 * i] as number;
    if (readIn !== undefined) return readIn(this.#view, bytes, start);
    return new Bytes(bytes.buffer, bytes.byteOffset + start, (bounds[2 * i + 1] as number) - start);
  }
}

/**
 * An event of the output type: the very one that came in where it is of that type, else what `value` describes,
 * encoded.
 */
export function toOutput(value: object): object {
  if (outType === undefined) {
    if (!isBytes(value)) throw new TypeError("an event of an untyped channel is a Uint8Array");
    return value;
  }
  const found = accessorBytes(value);
  if (found !== undefined && sourceOf(found.bytes)?.type === outType) return value;
  return encodeOutput(outType, value);
}

function sourceOf(bytes: Uint8Array): Source | undefined {
  if (newest?.bytes !== bytes) newest = recall(sources, bytes);
  return newest;
}

/**
 * The bytes of an event of the input type: those of one that came in as they lie, or what a plain object is encoded to.
 * Together with `typeToken` they are an event wherever its type is known.
 */
export function bytesOf(event: object): Uint8Array {
  if (inType === undefined) {
    if (!isBytes(event)) throw new TypeError("an event of an untyped channel is a Uint8Array");
    return event;
  }
  const found = accessorBytes(event);
  const source = found && sourceOf(found.bytes);
  if (found === undefined || source?.type !== inType) return encode(inType, event);
  const { bytes, start, end } = locateIn(source, found.position);
  return new Bytes(bytes.buffer, bytes.byteOffset + start, end - start);
}

let token: bigint | undefined;

/** Names the input type everywhere; 0n for opaque bytes. */
export function typeToken(): bigint {
  token ??= inType === undefined ? 0n : new Type(inType).token;
  return token;
}

// Encoded events lie together in blocks: an allocation for each costs more than the encoding.
const BLOCK_BYTES = 64 << 10;
const BLOCK_EVENTS = 512;
let block: { readonly source: Source; readonly view: DataView; at: number } | undefined;

function encodeOutput(type: ObjectType, value: object): object {
  const room = measure(type, value);
  if (block === undefined || block.at + room > block.view.byteLength || block.source.count === BLOCK_EVENTS) {
    const bytes = new Bytes(room > BLOCK_BYTES ? room + 8 : BLOCK_BYTES);
    const source = { bytes, bounds: new Words(2 * BLOCK_EVENTS), count: 0, next: 0, type };
    remember(sources, bytes, source);
    block = { source, view: new View(bytes.buffer), at: 0 };
  }
  const { source, view, at } = block;
  const end = encodeInto(type, value, source.bytes, view, at);
  source.bounds[2 * source.count] = at;
  source.bounds[2 * source.count + 1] = end;
  source.count++;
  block.at = (end + 7) & -8;
  return (readOut as ReadEvent)(view, source.bytes, at);
}

/** Where the bytes of an event of the output type lie, or those of what `value` is encoded to. */
export function locateOutput(value: object): Located {
  const event = toOutput(value);
  if (outType === undefined) {
    const bytes = event as Uint8Array;
    return { bytes, start: 0, end: bytes.byteLength };
  }
  const found = accessorBytes(event) as { bytes: Uint8Array; position: number };
  return locateIn(sourceOf(found.bytes) as Source, found.position);
}

function locateIn(source: Source, position: number): Located {
  const { bytes, bounds, count, next } = source;
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
  return { bytes, start: bounds[2 * low] as number, end: bounds[2 * low + 1] as number };
}
