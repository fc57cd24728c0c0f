/** The face for our own packages, besides `mod.ts`: frames and the workings of types. */

export { Few } from "./few.ts";
export { CHECKSUM_BYTES, checksumOf, crc32, Sealer, withoutChecksum } from "./frames/checksum.ts";
export { FROM, WHEN_FULL } from "./frames/delivery.ts";
export { EventsFrame } from "./frames/events.ts";
export {
  type Control,
  encodeControl,
  encodeForNow,
  type Frame,
  frameEnd,
  joinFrames,
  MOST_CONTROL_BYTES,
  type Outgoing,
  parseFrame,
  parseMessage,
  refusal,
} from "./frames/frame.ts";
export { Blocks } from "./frames/memory.ts";
export { CHECKED_SUBPROTOCOL, PROTOCOL, SUBPROTOCOL, SUBPROTOCOLS } from "./frames/protocol.ts";
export type { Ack, Processed } from "./frames/reply.ts";
export {
  type EventBytes,
  encodeRun,
  encodeStretches,
  FLAG_SYNC,
  FLAG_URGENT,
  measureRun,
  type Room,
  type RunHeader,
  type Stretch,
  writeRun,
} from "./frames/run-bytes.ts";
export { inPieces, MOST_RUN_EVENTS, sliceRun } from "./frames/run-slice.ts";
export type * from "./generated/frame-schema.ts";
export { mayControl } from "./may-control.ts";
export { NumberTable } from "./number-table.ts";
export { objectTag } from "./object-tag.ts";
export {
  checkKind,
  checkOptions,
  FLAG,
  FUNCTION,
  NUMBER,
  type OptionNames,
  suggestion,
  TEXT,
  WHOLE,
} from "./options.ts";
export { unplainIn } from "./plain-data.ts";
export { type Accessor, accessorBytes } from "./types/accessor.ts";
export { readBfbs } from "./types/bfbs-reader.ts";
export { describeObject } from "./types/describe.ts";
export { encode, encodeInto } from "./types/encode.ts";
export { typeOf } from "./types/making.ts";
export { createReader, type ReadEvent } from "./types/reader.ts";
export { type ObjectType, SCALAR_BYTES } from "./types/schema.ts";
export { tokenOf } from "./types/type.ts";
export { type VerifyEvent, verify } from "./types/verify.ts";
export { measure } from "./types/written-values.ts";
