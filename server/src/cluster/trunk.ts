import type { TrunkCarrier } from "./trunk-carrier.ts";

/*
 * What two gateways say to one another about a client: the one that it is connected to, its edge, and the one that is the home of some of its channels.
 * Each message: its kind (1 byte), 3 bytes of nothing, the client's number (4 bytes), and the rest, which so begins at a multiple of 8.
 */

/** From the edge to the home. */
export const TO_HOME = {
  /** A client has something here: JSON, an `Entry`. */
  enters: 1,
  /** Frames of the client's. */
  frames: 2,
  /** The client has gone, or what it had here: 1 byte, 1 where it was cut off. */
  leaves: 3,
  /** So many bytes wait for it at the edge: 4 bytes. */
  waits: 4,
  /** The client brings shared objects along with a modulator for another home: JSON, their states. */
  brings: 5,
  /** Modulators at the edge's gateway read a shared object, or none do any more: JSON, a `Followed`. Of no client. */
  follows: 6,
  unfollows: 7,
  /** Is a type with this token known? JSON, the token as text; the client's number is the question's. */
  wantsType: 8,
} as const;

/** From the home to the edge. */
export const TO_EDGE = {
  /** Frames to the client. */
  send: 11,
  /** The number of a topic (4 bytes), which the client takes from now on, or no longer. */
  subscribe: 12,
  unsubscribe: 13,
  /** Frames to all takers of a topic but this client (0: to all): number of the topic (4 bytes), 4 bytes of nothing, the frames. */
  publish: 14,
  /** So many messages with events are taken: 4 bytes. */
  taken: 15,
  /** Why the client's connection ends: JSON, `[code, reason]`. */
  ends: 16,
  /** A newer state of an object that is followed: an `ObjectUpdate`. */
  object: 17,
  /** The schema of the type that was asked for; nothing where it is not known. */
  type: 18,
  /** The home's part of what all answer to the client: a frame of `PartOfAnswer`. */
  part: 19,
} as const;

/** A client's identity, as its edge tells it. */
export interface Entry {
  readonly address: string;
  readonly token: string;
  /** The home's part of the token by which it goes on with another client's session; "" where it does not. */
  readonly handover: string;
}

/** A shared object that is followed from another gateway. */
export interface Followed {
  readonly object: string;
  readonly version: number;
  readonly state: string;
}

const HEADER_BYTES = 8;
const NOTHING = new Uint8Array(0);

/** A message, taken apart. */
export interface TrunkMessage {
  readonly kind: number;
  readonly client: number;
  /** The rest, from a multiple of 8 on. */
  readonly rest: Uint8Array;
}

export function sendTrunk(
  carrier: TrunkCarrier,
  kind: number,
  client: number,
  ...rest: readonly Uint8Array[]
): void {
  const header = new Uint8Array(HEADER_BYTES);
  header[0] = kind;
  new DataView(header.buffer).setUint32(4, client, true);
  carrier.send([header, ...rest]);
}

/** @throws RangeError where the message is none */
export function readTrunk(message: Uint8Array): TrunkMessage {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const rest = message.byteLength === HEADER_BYTES ? NOTHING : message.subarray(HEADER_BYTES);
  return { kind: view.getUint8(0), client: view.getUint32(4, true), rest };
}

/** Numbers, 4 bytes each. */
export function words(...numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 * numbers.length);
  const view = new DataView(bytes.buffer);
  for (const [i, number] of numbers.entries()) view.setUint32(4 * i, number, true);
  return bytes;
}

export function wordOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
}

export function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function fromJson<T>(bytes: Uint8Array): T {
  return JSON.parse(Buffer.from(bytes).toString()) as T;
}
