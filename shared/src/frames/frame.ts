import { JechoError } from "../errors.ts";
import { type Control as Asked, HEADER, REPLY } from "../generated/frame-schema.ts";
import { readUtf8 } from "../types/utf8.ts";
import { ControlSource } from "./control-source.ts";
import { type ControlTable, TABLES } from "./control-tables.ts";
import { ControlTarget } from "./control-target.ts";
import { checkRun, EventsFrame, malformed, usualRun } from "./events.ts";
import { Blocks, isBeyondUint53 } from "./memory.ts";
import { type Ack, encodeReply, encodeReplyForNow, type Processed, readReply } from "./reply.ts";

/** A control message. */
export type Control = Asked | Ack | Processed;

/** A frame, parsed: a run of events left where it lies, or a control message as a plain object. */
export type Frame = EventsFrame | Control;

/** A control message to send: a field that is left out has its default. */
export type Outgoing = {
  [K in Control["kind"]]: { readonly kind: K } & Partial<Extract<Control, { kind: K }>>;
}[Control["kind"]];

const byTag = [undefined, ...TABLES.values()];
const source = new ControlSource();
const target = new ControlTarget();
const blocks = new Blocks();

// The vtable's entries, in the order of Frame's slots; the union's tag comes before its value.
const SLOT_HEADER = 0;
const SLOT_ENDS = 1;
const SLOT_PAYLOAD = 2;
const SLOT_CONTROL_TAG = 3;
const SLOT_CONTROL = 4;
const SLOT_REPLY = 5;
const SLOT_REASON = 6;
const SLOT_VERSIONS = 7;

/** Most bytes of a control message that a gateway takes: to take one apart takes its time all at once, 10 ms for each MiB of small parts. */
export const MOST_CONTROL_BYTES = 4 << 20;

/** One control message as a frame that stays as it is, a multiple of 8 bytes. */
export function encodeControl(control: Outgoing): Uint8Array {
  return isReply(control) ? encodeReply(control as Ack | Processed) : kept(write(control));
}

/** Encodes a control message into memory that the next call writes over: for callers that send it, or copy it, at once. */
export function encodeForNow(control: Outgoing): Uint8Array {
  return isReply(control) ? encodeReplyForNow(control as Ack | Processed) : write(control);
}

function write(control: Outgoing): Uint8Array<ArrayBuffer> {
  return target.message(TABLES.get(control.kind) as ControlTable, control);
}

/** A copy that is not written again. */
function kept(frame: Uint8Array): Uint8Array {
  const copy = blocks.allocate(frame.byteLength);
  copy.set(frame);
  return copy;
}

function isReply({ kind }: Outgoing): boolean {
  return kind === "Ack" || kind === "Processed";
}

/**
 * Takes a message apart: one or more frames back to back, each behind its size and of a multiple of 8 bytes.
 *
 * @param bytes begins at a multiple of 8 of its buffer, for typed arrays to be views on it
 * @param visit is given each, and where it lies; where it returns false, it has not taken that one, and the others wait, too
 * @param from where the first one begins
 * @param mostControlBytes of a control message
 * @returns where the first one begins that was not taken
 * @throws JechoError `FRAME_MALFORMED`, `FRAME_TOO_LARGE`; frames before the broken one have been visited by then
 */
export function parseMessage(
  bytes: Uint8Array,
  visit: (frame: Frame, start: number, end: number) => unknown,
  from = 0,
  mostControlBytes = Number.POSITIVE_INFINITY,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = from;
  while (at < bytes.byteLength) {
    const end = frameEnd(view, at);
    if (visit(parseFrame(view, bytes, at, end, mostControlBytes), at, end) === false) break;
    at = end;
  }
  return at;
}

/** End of the frame at `at`. @throws JechoError `FRAME_MALFORMED` where it does not end within the message */
export function frameEnd(view: DataView, at: number): number {
  if (at + 24 > view.byteLength) throw malformed("a frame is cut off");
  const end = at + 4 + view.getUint32(at, true);
  if (end > view.byteLength || end % 8 !== 0 || end < at + 24) throw malformed("a frame's size is wrong");
  return end;
}

/** The frame that lies in [start, end). @throws JechoError `FRAME_MALFORMED`, `FRAME_TOO_LARGE` */
export function parseFrame(
  view: DataView,
  bytes: Uint8Array,
  start: number,
  end: number,
  mostControlBytes = Number.POSITIVE_INFINITY,
): Frame {
  const usual = usualRun(view, bytes, start, end);
  if (usual !== undefined) return usual;
  const table = start + 4 + view.getUint32(start + 4, true);
  if (table % 4 !== 0 || table + 4 > end) throw malformed("the root lies outside the frame");
  const vtable = table - view.getInt32(table, true);
  if (vtable < start + 8 || vtable + 4 > end || vtable % 2 !== 0)
    throw malformed("the vtable lies outside the frame");
  const vtableBytes = view.getUint16(vtable, true);
  const tableBytes = view.getUint16(vtable + 2, true);
  if (vtable + vtableBytes > end || table + tableBytes > end)
    throw malformed("the table lies outside the frame");
  const inlineOf = (slot: number, bytes: number): number => {
    if (6 + 2 * slot > vtableBytes) return 0;
    const inline = view.getUint16(vtable + 4 + 2 * slot, true);
    if (inline !== 0 && (inline < 4 || inline + bytes > tableBytes))
      throw malformed("a field lies outside its table");
    return inline === 0 ? 0 : table + inline;
  };
  const header = inlineOf(SLOT_HEADER, HEADER.bytes);
  if (header === 0) {
    if (end - start > mostControlBytes)
      throw new JechoError("FRAME_TOO_LARGE", `a control message has at most ${mostControlBytes} bytes`);
    const reply = inlineOf(SLOT_REPLY, REPLY.bytes);
    if (reply === 0) {
      const tag = inlineOf(SLOT_CONTROL_TAG, 1);
      const control = inlineOf(SLOT_CONTROL, 4);
      if (tag === 0 || control === 0) throw malformed("a frame carries neither events nor a control message");
      const table = byTag[view.getUint8(tag)];
      if (table === undefined) throw malformed("a control message of an unknown kind");
      return source.message(view, bytes, start, end, control, table) as Control;
    }
    if (isBeyondUint53(view, reply + REPLY.number)) throw malformed("a count is beyond 2^53");
    const reason = inlineOf(SLOT_REASON, 4);
    if (reason === 0) return readReply(view, reply, "");
    const text = vectorAt(view, reason, 1, end);
    return readReply(view, reply, readUtf8(bytes, text.start, text.length));
  }
  const ends = vectorAt(view, inlineOf(SLOT_ENDS, 4), 4, end);
  const payload = vectorAt(view, inlineOf(SLOT_PAYLOAD, 4), 1, end);
  checkRun(view, header, payload.start, payload.length, ends.start, ends.length);
  const versionsAt = inlineOf(SLOT_VERSIONS, 4);
  const versions = versionsAt === 0 ? 0 : vectorAt(view, versionsAt, 4, end).start - 4;
  return new EventsFrame(view, bytes, {
    start,
    end,
    header,
    payload: payload.start,
    ends: ends.start,
    versions,
  });
}

function vectorAt(
  view: DataView,
  at: number,
  elementBytes: number,
  end: number,
): { start: number; length: number } {
  if (at === 0 || at % 4 !== 0) throw malformed("a run of events lacks a part");
  const position = at + view.getUint32(at, true);
  if (position % 4 !== 0 || position + 4 > end) throw malformed("a vector lies outside the frame");
  const length = view.getUint32(position, true);
  if (position + 4 + length * elementBytes > end) throw malformed("a vector is longer than its frame");
  return { start: position + 4, length };
}

/** Some frames as one message. */
export function joinFrames(frames: readonly Uint8Array[]): Uint8Array {
  if (frames.length === 1) return frames[0] as Uint8Array;
  const message = new Uint8Array(frames.reduce((sum, frame) => sum + frame.byteLength, 0));
  let at = 0;
  for (const frame of frames) {
    message.set(frame, at);
    at += frame.byteLength;
  }
  return message;
}

/** The control message that tells of an error in answer to a request. */
export function refusal(request: number, error: unknown): Control {
  const { number, message } = JechoError.from(error);
  return { kind: "Refused", request, code: number, message };
}
