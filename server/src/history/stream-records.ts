import { typeFromSchema } from "@jecho/shared";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import { attempt, boundOf, type Stored, sourceOf, storedFrame, storedSource } from "./stored.ts";

/*
 * A channel's history in a stream is a row of records under one subject. A card says what the channel is, and the newest one counts; the others have runs. Each is a
 * head in JSON, its length before it and bytes behind it, and is cut into messages of what the server takes at once.
 */

/** Facts about a channel besides its runs. */
export interface Card {
  readonly channel: string;
  /** In the order in which they began. */
  readonly epochs: readonly EpochStart[];
  /** Infinity is null in JSON. */
  readonly retention: { readonly [name in keyof Omit<Retention, "bytes">]: Retention[name] | null };
  /** Schemas, in base64. */
  readonly types: readonly string[];
  /** Whether what was stored before is forgotten. */
  readonly isFresh: boolean;
}

/** A run in a head: when it came, whose it is, and its bytes. */
export type RunHead = readonly [at: number, source: string, bytes: number];

interface Head {
  readonly version: number;
  readonly card?: Card;
  readonly runs?: readonly RunHead[];
}

/** The messages of a record with runs, by their numbers in the stream, and its events, by those in the channel. */
export interface RecordPlace {
  readonly messages: readonly number[];
  readonly firstSeq: number;
  readonly endSeq: number;
}

const VERSION = 1;
const WORD_BYTES = 4;
/** Two words before each piece: its index, and how many come behind it. */
const PIECE_BYTES = 2 * WORD_BYTES;

export function cardRecord(card: Card): Uint8Array {
  return recordOf({ version: VERSION, card }, []);
}

export function runHead(run: LoggedRun): RunHead {
  return [run.at, storedSource(run), run.frame.end - run.frame.start];
}

/** @param frames of these runs, as they were stamped */
export function runsRecord(runs: readonly RunHead[], frames: readonly Uint8Array[]): Uint8Array {
  return recordOf({ version: VERSION, runs }, frames);
}

function recordOf(head: Head, parts: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(WORD_BYTES);
  length.writeUInt32LE(text.byteLength);
  return Buffer.concat([length, text, ...parts]);
}

/** Cuts a record into messages of at most so many bytes. */
export function piecesOf(record: Uint8Array, mostBytes: number): Uint8Array[] {
  const step = mostBytes - PIECE_BYTES;
  const count = Math.max(1, Math.ceil(record.byteLength / step));
  return Array.from({ length: count }, (_, i) => {
    const words = Buffer.alloc(PIECE_BYTES);
    words.writeUInt32LE(i);
    words.writeUInt32LE(count - 1 - i, WORD_BYTES);
    return Buffer.concat([words, record.subarray(i * step, (i + 1) * step)]);
  });
}

/** Reads a channel's messages, oldest first. */
export class RecordReader {
  card: Card | undefined;
  runs: LoggedRun[] = [];
  places: RecordPlace[] = [];
  /** The newest message's number in the stream. */
  lastSeq = 0;
  /** Records that cannot be read. */
  damaged = 0;
  #pieces: Uint8Array[] = [];
  #messages: number[] = [];

  take(seq: number, message: Uint8Array): void {
    this.lastSeq = seq;
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
    if (bytes.byteLength < PIECE_BYTES) return void this.damaged++;
    const [index, rest] = [bytes.readUInt32LE(0), bytes.readUInt32LE(WORD_BYTES)];
    if (index === 0) {
      // Whoever wrote the one before ended in its midst: nobody was told that it is stored.
      this.#pieces = [];
      this.#messages = [];
    }
    // The beginning was dropped.
    if (index !== this.#pieces.length) return;
    this.#pieces.push(bytes.subarray(PIECE_BYTES));
    this.#messages.push(seq);
    if (rest > 0) return;
    const record = Buffer.concat(this.#pieces);
    this.#pieces = [];
    try {
      this.#record(record);
    } catch {
      this.damaged++;
    }
  }

  #record(record: Buffer): void {
    const end = WORD_BYTES + record.readUInt32LE(0);
    const head = JSON.parse(record.subarray(WORD_BYTES, end).toString()) as Head;
    if (head.version !== VERSION) throw new Error(`a record of version ${head.version}`);
    if (head.card !== undefined) {
      this.card = head.card;
      if (!head.card.isFresh) return;
      this.runs = [];
      this.places = [];
      return;
    }
    const runs: LoggedRun[] = [];
    let start = end;
    for (const [at, source, bytes] of head.runs ?? []) {
      const frame = storedFrame(record.subarray(start, start + bytes));
      runs.push({ frame, ...sourceOf(source), at });
      start += bytes;
    }
    const [first, newest] = [runs[0], runs.at(-1)];
    if (first === undefined || newest === undefined) return;
    this.runs.push(...runs);
    const endSeq = newest.frame.seq + newest.frame.count;
    this.places.push({ messages: this.#messages, firstSeq: first.frame.seq, endSeq });
  }

  /** The stored part of the channel; undefined where there is none. */
  get stored(): Stored | undefined {
    const { card, runs } = this;
    if (card === undefined) return undefined;
    const { events, seconds, latest, key, durable } = card.retention;
    const newest = runs.at(-1)?.frame;
    const begun = card.epochs.at(-1)?.firstSeq ?? 1;
    return {
      epochs: card.epochs,
      runs,
      nextSeq: newest !== undefined ? newest.seq + newest.count : begun > 1 ? begun : undefined,
      types: card.types.flatMap(
        schema => attempt(() => typeFromSchema(new Uint8Array(Buffer.from(schema, "base64")))) ?? [],
      ),
      retention: {
        events: boundOf(events),
        seconds: boundOf(seconds),
        latest: latest === true,
        key: key ?? "",
        durable: durable === true,
      },
    };
  }
}
