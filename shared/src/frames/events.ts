import { JechoError } from "../errors.ts";
import { HEADER } from "../generated/frame-schema.ts";
import { alignUp } from "../types/encode-plan.ts";
import { getUint53, isBeyondUint53, setUint53 } from "./memory.ts";
import {
  ENDS,
  FIXED,
  FLAG_SYNC,
  FLAG_URGENT,
  PAYLOAD_LENGTH,
  PAYLOAD_START,
  RUN_HEADER,
  type Stretch,
  TEMPLATE_VIEW,
  VERSIONS,
  VTABLE,
  VTABLE_BYTES_WITH_VERSIONS,
} from "./run-bytes.ts";

/** Flag of a derived run: the same call of the modulator made further runs, the last of which accounts for what the call was given. */
export const FLAG_PART = 4;
/** Flag of a run of which consumers may have what another modulator made: modulators take it by itself, for the output is to divide as it did then. */
const FLAG_AGAIN = 8;

const NO_VERSIONS: readonly number[] = [];

/** A run of events as it lies in a received message. Everything but the stamps is immutable. */
export class EventsFrame {
  readonly kind = "Events";
  readonly view: DataView;
  readonly bytes: Uint8Array;
  /** The frame is [start, end) of `bytes`. */
  readonly start: number;
  readonly end: number;
  readonly count: number;
  /** Positions of the run's parts in `bytes`. */
  readonly header: number;
  readonly payload: number;
  readonly ends: number;
  /** Position of the vector of versions; 0 without one. */
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

  /** Clears flag 1: nobody waits for acknowledgements any more. */
  forgetSync(): void {
    this.#flag(FLAG_SYNC, false);
  }

  /** Sets flag 8: consumers may have what another modulator made of the run. */
  goAgain(): void {
    this.#flag(FLAG_AGAIN, true);
  }

  #flag(flag: number, isSet: boolean): void {
    const { flags } = this;
    const changed = isSet ? flags | flag : flags & ~flag;
    if (changed !== flags) this.view.setUint32(this.header + HEADER.flags, changed, true);
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

  /** Whether consumers may have what another modulator made of the run. */
  get isAgain(): boolean {
    return (this.flags & FLAG_AGAIN) !== 0;
  }

  /** Copies the run into memory of its own. */
  copy(): EventsFrame {
    const bytes = new Uint8Array(this.end - this.start);
    return this.copyTo(bytes, new DataView(bytes.buffer), 0);
  }

  /** Copies the run into other memory, from `at` on: a multiple of 8. */
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

  /** Beginning of event `i` in `bytes`: a multiple of 8. */
  eventStart(i: number): number {
    return this.payload + (i === 0 ? 0 : alignUp(this.view.getUint32(this.ends + 4 * (i - 1), true), 8));
  }

  /** End of event `i` in `bytes`. */
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
