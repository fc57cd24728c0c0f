import { HEADER } from "../generated/frame-schema.ts";
import { alignUp } from "../types/encode-plan.ts";
import { setUint53 } from "./memory.ts";

/*
 * The hot frame: a run of events. It is a FlatBuffer like any other, but always of the layout below, so it is written
 * by copying a template and patching it, and stamped by writing at fixed places.
 *
 *   0 size | 4 root | 8 vtable | 28 table: vtable, ends, payload | 40 header | 104 versions | 108 payload length | 112 payload ... | ends | versions
 */

export const VTABLE = 8;
const TABLE = 28;
export const ENDS = TABLE + 4;
const PAYLOAD = TABLE + 8;
export const RUN_HEADER = TABLE + 12;
export const VERSIONS = RUN_HEADER + HEADER.bytes;
export const PAYLOAD_LENGTH = VERSIONS + 4;
export const PAYLOAD_START = VERSIONS + 8;

/** The vtable's entry of `versions`, behind those of the parts that a run does not have. */
const VTABLE_VERSIONS = VTABLE + 18;
const VTABLE_BYTES = 12;
export const VTABLE_BYTES_WITH_VERSIONS = 20;

/** Flag of a run whose events are to be acknowledged, one by one. */
export const FLAG_SYNC = 1;
/** Flag of a run that overtakes others where it would have to wait. */
export const FLAG_URGENT = 2;

/** The values that all events of a run share, and those that the gateway stamps. */
export interface RunHeader {
  readonly channel: number;
  readonly producer: number;
  /** The producer's own count of the first event. */
  readonly raised: number;
  readonly token: bigint;
  readonly parameters: number;
  readonly flags: number;
  /** Versions of the shared objects on the events' way, where `parameters` does not say it all. */
  readonly versions?: readonly number[] | undefined;
  /** Provenance of a derived run, as `EventsFrame.after` and `through`. Default: none. */
  readonly after?: number;
  readonly through?: number;
}

/** Bytes of an event where they lie. */
export interface EventBytes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Events one behind the other where they lie, in one piece of memory: a run is made of such. */
export interface Stretch {
  readonly bytes: Uint8Array;
  /** Start and end of each event that lies there, ascending; each starts at a multiple of 8. */
  readonly bounds: ArrayLike<number>;
  /** The events from `first` on, up to but without `end`. */
  readonly first: number;
  readonly end: number;
}

const TEMPLATE = makeTemplate();
export const TEMPLATE_VIEW = new DataView(TEMPLATE.buffer);
/** Positions of the template's words in a run of the usual layout. */
export const FIXED = [4, VTABLE, VTABLE + 4, VTABLE + 8, TABLE, PAYLOAD];

function makeTemplate(): Uint8Array {
  const bytes = new Uint8Array(PAYLOAD_START);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, TABLE - 4, true);
  view.setUint16(VTABLE, VTABLE_BYTES, true);
  view.setUint16(VTABLE + 2, 12 + HEADER.bytes, true);
  view.setUint16(VTABLE + 4, RUN_HEADER - TABLE, true);
  view.setUint16(VTABLE + 6, ENDS - TABLE, true);
  view.setUint16(VTABLE + 8, PAYLOAD - TABLE, true);
  view.setInt32(TABLE, TABLE - VTABLE, true);
  view.setUint32(PAYLOAD, PAYLOAD_LENGTH - PAYLOAD, true);
  return bytes;
}

/** Bytes that a run of these events takes as a frame, a multiple of 8. */
export function measureRun(stretches: readonly Stretch[], versions?: readonly number[]): number {
  let payload = 0;
  let events = 0;
  for (const { bounds, first, end } of stretches) {
    events += end - first;
    for (let i = 2 * first; i < 2 * end; i += 2)
      payload = alignUp(payload, 8) + (bounds[i + 1] as number) - (bounds[i] as number);
  }
  const behind = versions === undefined ? 0 : 4 + 4 * versions.length;
  return alignUp(PAYLOAD_START + alignUp(payload, 4) + 4 + 4 * events + behind, 8);
}

/** Writes the run at `at`, a multiple of 8, and returns where the next frame may begin. The room must be there. */
export function writeRun(
  target: Uint8Array,
  view: DataView,
  at: number,
  header: RunHeader,
  stretches: readonly Stretch[],
): number {
  target.set(TEMPLATE, at);
  let events = 0;
  for (const { first, end } of stretches) events += end - first;
  const h = at + RUN_HEADER;
  view.setUint32(h + HEADER.channel, header.channel, true);
  setUint53(view, h + HEADER.raised, header.raised);
  view.setBigUint64(h + HEADER.token, header.token, true);
  view.setUint32(h + HEADER.producer, header.producer, true);
  view.setUint32(h + HEADER.parameters, header.parameters, true);
  view.setUint32(h + HEADER.count, events, true);
  view.setUint32(h + HEADER.flags, header.flags, true);
  if (header.through !== undefined) {
    setUint53(view, h + HEADER.after, header.after ?? header.through);
    setUint53(view, h + HEADER.through, header.through);
  }
  const payload = at + PAYLOAD_START;
  let end = payload;
  for (const stretch of stretches) end = writeEvents(target, alignZeros(target, end, 8), stretch);
  view.setUint32(at + PAYLOAD_LENGTH, end - payload, true);
  const endsAt = alignZeros(target, end, 4);
  view.setUint32(at + ENDS, endsAt - (at + ENDS), true);
  view.setUint32(endsAt, events, true);
  end = writeEnds(view, endsAt + 4, stretches);
  if (header.versions !== undefined) end = writeVersions(view, at, end, header.versions);
  const next = alignZeros(target, end, 8);
  view.setUint32(at, next - at - 4, true);
  return next;
}

/** Copies events to `at`, those that lie as they are to lie at once. @returns where the last one ends */
function writeEvents(target: Uint8Array, at: number, stretch: Stretch): number {
  const { bytes, bounds, first, end: stop } = stretch;
  const isApart = areShortAndApart(stretch);
  const from32 = isApart ? wordsOf(bytes) : undefined;
  const to32 = from32 && wordsOf(target);
  let from = bounds[2 * first] as number;
  let until = from;
  let to = at;
  for (let i = 2 * first; i < 2 * stop; i += 2) {
    const start = bounds[i] as number;
    if (start !== alignUp(until, 8)) {
      copy(bytes, from32, from, until, target, to32, to);
      to = alignZeros(target, to + until - from, 8);
      from = start;
    }
    until = bounds[i + 1] as number;
  }
  copy(bytes, from32, from, until, target, to32, to);
  return to + until - from;
}

/**
 * Number of events from which on it pays to make views of words, and of bytes up to which it pays to copy by them
 * instead of by a view on the bytes.
 */
const WORDS_FROM_EVENTS = 8;
const WORDS_TO_BYTES = 128;

/** Whether the events are many small ones that do not lie as they are to lie, as in a ring. */
function areShortAndApart({ bounds, first, end }: Stretch): boolean {
  if (end - first < WORDS_FROM_EVENTS) return false;
  const stop = bounds[2 * first + 1] as number;
  return stop - (bounds[2 * first] as number) <= WORDS_TO_BYTES && bounds[2 * first + 2] !== alignUp(stop, 8);
}

function wordsOf(bytes: Uint8Array): Int32Array | undefined {
  return bytes.byteOffset % 4 === 0
    ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)
    : undefined;
}

/** Copies bytes by whole words: what is written behind them, up to the end of a word, is overwritten by what follows. */
function copy(
  from: Uint8Array,
  from32: Int32Array | undefined,
  start: number,
  end: number,
  to: Uint8Array,
  to32: Int32Array | undefined,
  at: number,
): void {
  const areWords = from32 !== undefined && to32 !== undefined && end - start <= WORDS_TO_BYTES;
  const stop = (end + 3) >> 2;
  if (!areWords || ((start | at) & 3) !== 0 || stop > from32.length)
    return copyBytes(from, start, end, to, at);
  for (let i = start >> 2, j = at >> 2; i < stop; i++) to32[j++] = from32[i] as number;
}

function writeEnds(view: DataView, start: number, stretches: readonly Stretch[]): number {
  let at = start;
  let last = 0;
  for (const { bounds, first, end } of stretches) {
    for (let i = 2 * first; i < 2 * end; i += 2) {
      last = alignUp(last, 8) + (bounds[i + 1] as number) - (bounds[i] as number);
      view.setUint32(at, last, true);
      at += 4;
    }
  }
  return at;
}

/** Fills up to a multiple of `unit` with zeros, and returns it. */
function alignZeros(target: Uint8Array, at: number, unit: number): number {
  const end = alignUp(at, unit);
  for (let i = at; i < end; i++) target[i] = 0;
  return end;
}

function writeVersions(view: DataView, at: number, start: number, versions: readonly number[]): number {
  view.setUint16(at + VTABLE, VTABLE_BYTES_WITH_VERSIONS, true);
  view.setUint16(at + VTABLE + 2, VERSIONS + 4 - TABLE, true);
  view.setUint16(at + VTABLE_VERSIONS, VERSIONS - TABLE, true);
  view.setUint32(at + VERSIONS, start - (at + VERSIONS), true);
  view.setUint32(start, versions.length, true);
  for (let i = 0; i < versions.length; i++) view.setUint32(start + 4 + 4 * i, versions[i] as number, true);
  return start + 4 + 4 * versions.length;
}

/** A few bytes are copied sooner one by one than by a view on them. */
function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start > 64) to.set(start === 0 && end === from.byteLength ? from : from.subarray(start, end), at);
  else for (let i = start, j = at; i < end; i++) to[j++] = from[i] as number;
}

/** The run as a message of its own. */
export function encodeRun(header: RunHeader, events: readonly EventBytes[]): Uint8Array {
  return encodeStretches(
    header,
    events.map(({ bytes, start, end }) => ({ bytes, bounds: [start, end], first: 0, end: 1 })),
  );
}

/** Gives memory for so many bytes, all of which will be written. */
export type Room = (bytes: number) => Uint8Array<ArrayBuffer>;

const newRoom: Room = bytes => new Uint8Array(bytes);

/** The run as a message of its own. */
export function encodeStretches(
  header: RunHeader,
  stretches: readonly Stretch[],
  room = newRoom,
): Uint8Array<ArrayBuffer> {
  const bytes = room(measureRun(stretches, header.versions));
  writeRun(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, header, stretches);
  return bytes;
}
