import { JechoError } from "../errors.ts";
import { HEADER } from "../generated/frame-schema.ts";
import { alignUp } from "../types/encode-plan.ts";
import { getUint53, isBeyondUint53, setUint53 } from "./memory.ts";

/*
 * The hot frame: a run of events. It is a FlatBuffer like any other, but always of the layout below, so it is written
 * by copying a template and patching it, and stamped by writing at fixed places.
 *
 *   0 size | 4 root | 8 vtable | 28 table: vtable, ends, payload | 40 header | 104 versions | 108 payload length | 112 payload ... | ends | versions
 */

const VTABLE = 8;
const TABLE = 28;
const ENDS = TABLE + 4;
const PAYLOAD = TABLE + 8;
const RUN_HEADER = TABLE + 12;
const VERSIONS = RUN_HEADER + HEADER.bytes;
const PAYLOAD_LENGTH = VERSIONS + 4;
const PAYLOAD_START = VERSIONS + 8;

/** The vtable's entry of `versions`, behind those of the parts that a run does not have. */
const VTABLE_VERSIONS = VTABLE + 18;
const VTABLE_BYTES = 12;
const VTABLE_BYTES_WITH_VERSIONS = 20;

/** Flag of a run whose events are to be acknowledged, one by one. */
export const FLAG_SYNC = 1;
/** Flag of a run that overtakes others where it would have to wait. */
export const FLAG_URGENT = 2;
/** Flag of a derived run: the same call of the modulator made further runs, the last of which accounts for what the call was given. */
const FLAG_PART = 4;

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

const NO_VERSIONS: readonly number[] = [];
const TEMPLATE = makeTemplate();
const TEMPLATE_VIEW = new DataView(TEMPLATE.buffer);
/** Where a run of the usual layout has the template's words. */
const FIXED = [4, VTABLE, VTABLE + 4, VTABLE + 8, TABLE, PAYLOAD];

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

/** A stretch of this one event. */
export function stretchOf({ bytes, start, end }: EventBytes): Stretch {
  return { bytes, bounds: [start, end], first: 0, end: 1 };
}

/** The run as a message of its own. */
export function encodeRun(header: RunHeader, events: readonly EventBytes[]): Uint8Array {
  return encodeStretches(header, events.map(stretchOf));
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

/** A run of events as it lies in a received message. Everything but the stamps is immutable. */
export class EventsFrame {
  readonly kind = "Events";
  readonly view: DataView;
  readonly bytes: Uint8Array;
  /** The frame is [start, end) of `bytes`. */
  readonly start: number;
  readonly end: number;
  readonly count: number;
  /** Where its parts lie in `bytes`. */
  readonly header: number;
  readonly payload: number;
  readonly ends: number;
  /** Where the vector of versions lies; 0 without one. */
  readonly versionsAt: number;

  /** Positions are those that `parseFrame` has checked. */
  constructor(
    view: DataView,
    bytes: Uint8Array,
    bounds: { start: number; end: number; header: number; payload: number; ends: number; versions: number },
  ) {
    this.view = view;
    this.bytes = bytes;
    this.start = bounds.start;
    this.end = bounds.end;
    this.header = bounds.header;
    this.payload = bounds.payload;
    this.ends = bounds.ends;
    this.versionsAt = bounds.versions;
    this.count = view.getUint32(bounds.header + HEADER.count, true);
  }

  get channel(): number {
    return this.view.getUint32(this.header + HEADER.channel, true);
  }
  get producer(): number {
    return this.view.getUint32(this.header + HEADER.producer, true);
  }
  get raised(): number {
    return getUint53(this.view, this.header + HEADER.raised);
  }
  get token(): bigint {
    return this.view.getBigUint64(this.header + HEADER.token, true);
  }
  get parameters(): number {
    return this.view.getUint32(this.header + HEADER.parameters, true);
  }
  /**
   * The version of each shared object of all modulators on the events' way, the first one's first. A run that says it
   * by `parameters` alone has had one modulator with one object at most.
   */
  get versions(): readonly number[] {
    const at = this.versionsAt;
    if (at === 0) return this.parameters === 0 ? NO_VERSIONS : [this.parameters];
    const count = this.view.getUint32(at, true);
    return Array.from({ length: count }, (_, i) => this.view.getUint32(at + 4 + 4 * i, true));
  }
  get flags(): number {
    return this.view.getUint32(this.header + HEADER.flags, true);
  }
  get epoch(): number {
    return this.view.getUint32(this.header + HEADER.epoch, true);
  }
  get seq(): number {
    return getUint53(this.view, this.header + HEADER.seq);
  }

  /**
   * Provenance of a derived run: with it, its modulator has been through the events from `after` + 1 to `through` of the raw source that
   * it is made of. Both are 0 in a run that a producer raised.
   */
  get after(): number {
    return getUint53(this.view, this.header + HEADER.after);
  }
  get through(): number {
    return getUint53(this.view, this.header + HEADER.through);
  }

  /** Count of the newest raw event that is accounted for once this run is there. */
  get accounted(): number {
    return this.isPart ? this.after : this.through;
  }

  /** Raised events that are lost with this run: its own, or those that only it accounts for. */
  get stake(): number {
    return this.through === 0 ? this.count : Math.max(1, this.accounted - this.after);
  }

  /**
   * Writes its provenance.
   *
   * @param isPart whether another run of the same call comes, which accounts for the stretch
   */
  account(after: number, through: number, isPart: boolean): void {
    setUint53(this.view, this.header + HEADER.after, after);
    setUint53(this.view, this.header + HEADER.through, through);
    this.#flag(FLAG_PART, isPart);
  }

  /** Writes the gateway's stamp into the frame where it lies. */
  stamp(epoch: number, seq: number): void {
    this.view.setUint32(this.header + HEADER.epoch, epoch, true);
    setUint53(this.view, this.header + HEADER.seq, seq);
  }

  /** Writes the producer's own count of the first event, where another than the writer of the run does the counting. */
  recount(raised: number): void {
    setUint53(this.view, this.header + HEADER.raised, raised);
  }

  /** Sends the run under other numbers: the same channel and producer have others at another connection. */
  readdress(channel: number, producer: number): void {
    this.view.setUint32(this.header + HEADER.channel, channel, true);
    this.view.setUint32(this.header + HEADER.producer, producer, true);
  }

  /** Nobody waits for acknowledgements of this run any more. */
  forgetSync(): void {
    this.#flag(FLAG_SYNC, false);
  }

  #flag(flag: number, isSet: boolean): void {
    const { flags } = this;
    const changed = isSet ? flags | flag : flags & ~flag;
    if (changed !== flags) this.view.setUint32(this.header + HEADER.flags, changed, true);
  }

  /** The events from `first` on, up to but without `end`, as a run of its own in memory of its own. */
  slice(first: number, end = this.count): EventsFrame {
    const { channel, producer, raised, token, parameters, epoch, seq, after, through } = this;
    const versions = this.versionsAt === 0 ? undefined : this.versions;
    // What the run accounts for is accounted for when the last of its events is there.
    const flags = end < this.count && through > 0 ? this.flags | FLAG_PART : this.flags;
    const header = {
      channel,
      producer,
      raised: raised + first,
      token,
      parameters,
      flags,
      versions,
      after,
      through,
    };
    const slice = EventsFrame.at(encodeStretches(header, [this.stretch(first, end)]));
    slice.stamp(epoch, seq + first);
    return slice;
  }

  /** The events from `first` on, up to but without `end`, where they lie. */
  stretch(first = 0, end = this.count): Stretch {
    const { bytes, view, payload, ends } = this;
    const bounds: number[] = [];
    for (let i = first; i < end; i++) {
      bounds.push(i === first ? this.eventStart(i) : alignUp(bounds[bounds.length - 1] as number, 8));
      bounds.push(payload + view.getUint32(ends + 4 * i, true));
    }
    return { bytes, bounds, first: 0, end: end - first };
  }

  get isSync(): boolean {
    return (this.flags & FLAG_SYNC) !== 0;
  }

  get isUrgent(): boolean {
    return (this.flags & FLAG_URGENT) !== 0;
  }

  /** Whether further runs of the same modulator call follow. The last one accounts for the events that the call was given. */
  get isPart(): boolean {
    return (this.flags & FLAG_PART) !== 0;
  }

  /** The same run in memory of its own. */
  copy(): EventsFrame {
    const bytes = new Uint8Array(this.end - this.start);
    return this.copyTo(bytes, new DataView(bytes.buffer), 0);
  }

  /** The same run in other memory, from `at` on: a multiple of 8. */
  copyTo(bytes: Uint8Array, view: DataView, at: number): EventsFrame {
    const { start, end } = this;
    bytes.set(this.bytes.subarray(start, end), at);
    // By differences: a sum with a negated 0 is no small integer, and engines then keep these places of all frames in boxes.
    return new EventsFrame(view, bytes, {
      start: at,
      end: end - start + at,
      header: this.header - start + at,
      payload: this.payload - start + at,
      ends: this.ends - start + at,
      versions: this.versionsAt === 0 ? 0 : this.versionsAt - start + at,
    });
  }

  /** A run that `writeRun` wrote, whose layout is known. */
  static at(
    bytes: Uint8Array,
    start = 0,
    view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  ): EventsFrame {
    const ends = start + ENDS + view.getUint32(start + ENDS, true) + 4;
    const hasVersions = view.getUint16(start + VTABLE, true) === VTABLE_BYTES_WITH_VERSIONS;
    return new EventsFrame(view, bytes, {
      start,
      end: start + 4 + view.getUint32(start, true),
      header: start + RUN_HEADER,
      payload: start + PAYLOAD_START,
      ends,
      versions: hasVersions ? start + VERSIONS + view.getUint32(start + VERSIONS, true) : 0,
    });
  }

  /** Where event `i` begins in `bytes`: a multiple of 8. */
  eventStart(i: number): number {
    return this.payload + (i === 0 ? 0 : alignUp(this.view.getUint32(this.ends + 4 * (i - 1), true), 8));
  }

  /** Where event `i` ends in `bytes`. */
  eventEnd(i: number): number {
    return this.payload + this.view.getUint32(this.ends + 4 * i, true);
  }

  /** The frame's own bytes. */
  raw(): Uint8Array {
    return this.bytes.subarray(this.start, this.end);
  }
}

/**
 * The run that lies in [start, end), if it has the very layout that `writeRun` gives one without versions: most have, and
 * theirs takes a few comparisons to know.
 *
 * @throws JechoError `FRAME_MALFORMED` where what is in it is not right
 */
export function usualRun(
  view: DataView,
  bytes: Uint8Array,
  start: number,
  end: number,
): EventsFrame | undefined {
  if (end - start < PAYLOAD_START + 8) return undefined;
  for (const at of FIXED)
    if (view.getUint32(start + at, true) !== TEMPLATE_VIEW.getUint32(at, true)) return undefined;
  const payload = start + PAYLOAD_START;
  const payloadBytes = view.getUint32(start + PAYLOAD_LENGTH, true);
  const count = start + ENDS + view.getUint32(start + ENDS, true);
  if (count % 4 !== 0 || count + 4 > end || payload + payloadBytes > end) return undefined;
  const ends = count + 4;
  const endsCount = view.getUint32(count, true);
  if (ends + 4 * endsCount > end) return undefined;
  const header = start + RUN_HEADER;
  checkRun(view, header, payload, payloadBytes, ends, endsCount);
  return new EventsFrame(view, bytes, { start, end, header, payload, ends, versions: 0 });
}

const COUNTS = [HEADER.seq, HEADER.raised, HEADER.after, HEADER.through];

/** Checks that `ends` are as many as the header says, ascend, and stay within the payload. */
export function checkRun(
  view: DataView,
  header: number,
  payload: number,
  payloadBytes: number,
  ends: number,
  endsCount: number,
): void {
  const count = view.getUint32(header + HEADER.count, true);
  if (count === 0 || count !== endsCount) throw malformed(`a run says ${count} events and has ${endsCount}`);
  for (const at of COUNTS) if (isBeyondUint53(view, header + at)) throw malformed("a count is beyond 2^53");
  if (payload % 8 !== 0) throw malformed("the payload is not aligned");
  let last = 0;
  for (let i = 0; i < count; i++) {
    const end = view.getUint32(ends + 4 * i, true);
    const start = i === 0 ? 0 : alignUp(last, 8);
    if (end < start || end > payloadBytes) throw malformed(`event ${i} of a run lies outside its payload`);
    last = end;
  }
}

export function malformed(why: string): JechoError {
  return new JechoError("FRAME_MALFORMED", why);
}
