import { REPLY } from "../generated/frame-schema.ts";
import { alignUp } from "../types/encode-plan.ts";
import { getUint53, setUint53 } from "./memory.ts";

/*
 * Replies to synchronous events, there and back for each of them: like runs, FlatBuffers of a fixed layout that are written and
 * read where they lie.
 *
 *   0 size | 4 root | 8 vtable | 28 table: vtable | 32 reply | 72 reason ...
 */

const VTABLE = 8;
const VTABLE_BYTES = 18;
const TABLE = 28;
const STRUCT = 32;
const REASON = STRUCT + REPLY.bytes;

/** A consumer's process: all its consumers of this channel have handled the event. */
export interface Ack {
  readonly kind: "Ack";
  readonly channel: number;
  readonly seq: number;
  readonly consumers: number;
  readonly failed: number;
  readonly message: string;
}

/** The gateway to the producer's process: every consumer elsewhere has handled the event, or has gone. */
export interface Processed {
  readonly kind: "Processed";
  readonly channel: number;
  readonly producer: number;
  /** The producer's own count of the event. */
  readonly raised: number;
  readonly consumers: number;
  readonly failed: number;
  readonly message: string;
  /** Consumers that had not answered when the producer gave up waiting. */
  readonly missing: number;
  /** Messages with events that the gateway has taken since it last said so. */
  readonly taken: number;
}

const TEMPLATE = makeTemplate();

function makeTemplate(): Uint8Array {
  const bytes = new Uint8Array(REASON);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, REASON - 4, true);
  view.setUint32(4, TABLE - 4, true);
  view.setUint16(VTABLE, VTABLE_BYTES, true);
  view.setUint16(VTABLE + 2, REASON - TABLE, true);
  view.setUint16(VTABLE + 14, STRUCT - TABLE, true);
  view.setInt32(TABLE, TABLE - VTABLE, true);
  return bytes;
}

const VIEW = new DataView(TEMPLATE.buffer);

/** A reply as a frame of its own, a multiple of 8 bytes. */
export function encodeReply(reply: Ack | Processed): Uint8Array {
  const bytes = encodeReplyForNow(reply);
  return bytes === TEMPLATE ? bytes.slice() : bytes;
}

/** Encodes a reply into memory that the next call writes over. */
export function encodeReplyForNow(reply: Ack | Processed): Uint8Array {
  writeReply(VIEW, reply);
  const { message } = reply;
  if (message === "") return TEMPLATE;
  const reason = new TextEncoder().encode(message);
  const bytes = new Uint8Array(alignUp(REASON + 8 + reason.byteLength + 1, 8));
  bytes.set(TEMPLATE);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.byteLength - 4, true);
  view.setUint16(VTABLE + 2, REASON + 4 - TABLE, true);
  view.setUint16(VTABLE + 16, REASON - TABLE, true);
  view.setUint32(REASON, 4, true);
  view.setUint32(REASON + 4, reason.byteLength, true);
  bytes.set(reason, REASON + 8);
  return bytes;
}

/** Writes all of the struct. */
function writeReply(view: DataView, reply: Ack | Processed): void {
  const isAck = reply.kind === "Ack";
  setUint53(view, STRUCT + REPLY.number, isAck ? reply.seq : reply.raised);
  view.setUint32(STRUCT + REPLY.channel, reply.channel, true);
  view.setUint32(STRUCT + REPLY.consumers, reply.consumers, true);
  view.setUint32(STRUCT + REPLY.failed, reply.failed, true);
  view.setUint32(STRUCT + REPLY.producer, isAck ? 0 : reply.producer, true);
  view.setUint32(STRUCT + REPLY.missing, isAck ? 0 : reply.missing, true);
  view.setUint32(STRUCT + REPLY.processed, isAck ? 0 : 1, true);
  view.setUint32(STRUCT + REPLY.taken, isAck ? 0 : reply.taken, true);
}

/** @param at where the struct lies @param message the reason, which lies elsewhere in the frame */
export function readReply(view: DataView, at: number, message: string): Ack | Processed {
  const number = getUint53(view, at + REPLY.number);
  const channel = view.getUint32(at + REPLY.channel, true);
  const consumers = view.getUint32(at + REPLY.consumers, true);
  const failed = view.getUint32(at + REPLY.failed, true);
  if (view.getUint32(at + REPLY.processed, true) === 0)
    return { kind: "Ack", channel, seq: number, consumers, failed, message };
  const producer = view.getUint32(at + REPLY.producer, true);
  const missing = view.getUint32(at + REPLY.missing, true);
  const taken = view.getUint32(at + REPLY.taken, true);
  return { kind: "Processed", channel, producer, raised: number, consumers, failed, message, missing, taken };
}
