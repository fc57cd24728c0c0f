import { OUTBOX, OUTBOX_HEAD } from "../sandbox.ts";
import { areOfRun, type Located } from "./events.ts";
import type { Memory } from "./memory.ts";
import { present } from "./objects.ts";
import { Bytes, setBytes, Words } from "./primordials.ts";

/*
 * The block of memory by which events leave: records of passed and made events, and behind them the bytes of the made ones.
 */

/**
 * Takes events that leave: the one at `at`, and those behind it up to `end`, which is not included. Returns whether there was room.
 */
type Put = (at: Located, end: number, versions: readonly number[], urgent: boolean) => boolean;

const blank = () => ({
  outBytes: undefined as unknown as Uint8Array,
  outWords: undefined as unknown as Uint32Array,
  /** First event that found no room; the others follow up to `heldEnd`, which is not included. */
  held: undefined as Located | undefined,
  heldEnd: 0,
  heldVersions: [] as readonly number[],
  heldUrgent: false,
  /** The versions written last, and their position. */
  writtenVersions: undefined as readonly number[] | undefined,
  writtenAt: 0,
  /** End of what was written last. */
  writtenEnd: 0,
  put: writeOut as Put,
});
let { outBytes, outWords, held, heldEnd, heldVersions, heldUrgent } = blank();
let { writtenVersions, writtenAt, writtenEnd, put } = blank();

export { outWords };

export const outboxMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => {
    const theHeld = { held, heldEnd, heldVersions, heldUrgent };
    return { outBytes, outWords, ...theHeld, writtenVersions, writtenAt, writtenEnd, put };
  },
  enter: memory => {
    ({ outBytes, outWords, held, heldEnd, heldVersions, heldUrgent } = memory);
    ({ writtenVersions, writtenAt, writtenEnd, put } = memory);
  },
};

export function attachOutbox(memory: ArrayBufferLike): void {
  outBytes = new Bytes(memory);
  outWords = new Words(memory, 0, outBytes.length / 4);
}

/** Takes leaving events without a copy, in a world without a wall. */
export function handOver(take: Put): void {
  put = take;
}

/** Leaves bytes for the host in the place of events; their sizes before them are written later. */
export function hand(bytes: Uint8Array): number {
  setBytes(outBytes, bytes, OUTBOX_HEAD);
  return bytes.byteLength;
}

/** @returns where the next part goes */
export function putPart(part: number, bytes: Uint8Array | undefined, at: number): number {
  outWords[OUTBOX.parts + part] = bytes === undefined ? 0 : bytes.byteLength;
  if (bytes === undefined) return at;
  setBytes(outBytes, bytes, at);
  return at + bytes.byteLength;
}

/** Empties the outbox: the host has taken its contents. */
export function emptyOutbox(): void {
  outWords[OUTBOX.count] = 0;
  outWords[OUTBOX.wanted] = 0;
  writtenEnd = OUTBOX_HEAD;
}

/** Writes the events that found no room before. @returns false where there is still none */
export function putHeld(): boolean {
  if (held === undefined) return true;
  if (!put(held, heldEnd, heldVersions, heldUrgent)) return false;
  held = undefined;
  return true;
}

/** @returns false where there was no room: the events are held then */
export function putOrHold(at: Located, end: number, versions: readonly number[], urgent: boolean): boolean {
  if (put(at, end, versions, urgent)) return true;
  held = at;
  heldEnd = end;
  heldVersions = versions;
  heldUrgent = urgent;
  return false;
}

/** Writes one made event, or the indexes of passing input events, whose bytes the host has. */
function writeOut(at: Located, end: number, versions: readonly number[], urgent: boolean): boolean {
  const { bytes, bounds, index, type } = at;
  const count = outWords[OUTBOX.count] as number;
  const record = OUTBOX.records + OUTBOX.recordWords * count;
  const passes = areOfRun(bytes);
  const start = bounds[2 * index] as number;
  const size = passes ? 0 : (bounds[2 * index + 1] as number) - start;
  const front = (writtenEnd + 7) & -8;
  // Several versions are written once for consecutive events with the same ones, whose records have their position.
  const { isPlain } = present;
  const isNew = !isPlain && (count === 0 || versions !== writtenVersions);
  const place = isNew ? (front + 4 * versions.length + 7) & -8 : front;
  const stop = place + size;
  if (count === OUTBOX.maxRecords || stop > outBytes.length) {
    if (count === 0) outWords[OUTBOX.wanted] = size;
    return false;
  }
  if (isNew) {
    for (let i = 0; i < versions.length; i++) outWords[front / 4 + i] = versions[i] as number;
    writtenVersions = versions;
    writtenAt = front;
  }
  if (!passes)
    setBytes(outBytes, new Bytes(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, size), place);
  writtenEnd = stop;
  outWords[record] = isPlain ? (versions[0] ?? 0) : writtenAt;
  outWords[record + 1] = passes ? index : place;
  outWords[record + 2] = passes ? end : stop;
  outWords[record + 3] = OUTBOX.type * type + (passes ? OUTBOX.passed : 0) + (urgent ? OUTBOX.urgent : 0);
  outWords[OUTBOX.count] = count + 1;
  return true;
}
