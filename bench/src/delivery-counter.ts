import { clientFrame, headerOf, OPCODE } from "./raw-websocket.ts";

/**
 * How a subscriber's events are counted: each message is one; or a run of JEcho says how many it has; or a stream of
 * bytes holds one in every so many (brokers put several in one message).
 */
export type Counting = "messages" | "runs" | { readonly unitBytes: number };

/** A run's frame has a fixed layout (shared/src/frames/events.ts); a control message has another. */
const RUN = { signAt: 4, sign: [24, 0, 0, 0, 12, 0], countAt: 80, headBytes: 84 } as const;
const PONG = clientFrame(OPCODE.pong, new Uint8Array(0));

/** Counts the events that reach one subscriber, each when its last byte has come, looking at headers only. */
export class DeliveryCounter {
  events = 0;
  bytes = 0;
  readonly #counting: Counting;
  readonly #reply: (bytes: Uint8Array) => void;
  /** Bytes of the present message, or of its present run, that are still to pass, and what counts when they have. */
  #left = 0;
  #pending = 0;
  /** Bytes of the present message behind that: a message may hold several runs. */
  #rest = 0;
  #unitBytesSeen = 0;
  /** The beginning of a head that was cut by the end of a read. */
  readonly #head = new Uint8Array(RUN.headBytes);
  #headBytes = 0;

  constructor(counting: Counting, reply: (bytes: Uint8Array) => void) {
    this.#counting = counting;
    this.#reply = reply;
  }

  /** @returns events that have become complete */
  take(bytes: Uint8Array, from: number, to: number): number {
    const before = this.events;
    this.bytes += to - from;
    let at = from;
    while (at < to) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, to - at);
        this.#pass(passed);
        at += passed;
        continue;
      }
      if (this.#headBytes === 0) {
        const used = this.#begin(bytes, at, to);
        if (used !== undefined) {
          at += used;
          continue;
        }
      }
      // Rare: the head lies across two reads. One byte at a time is the simple way.
      this.#head[this.#headBytes++] = bytes[at++] as number;
      const used = this.#begin(this.#head, 0, this.#headBytes);
      if (used === undefined) continue;
      const passed = this.#headBytes - used;
      this.#headBytes = 0;
      if (passed > 0) this.#pass(passed);
    }
    return this.events - before;
  }

  /** Reads the head of a message, or of a run in one, at `at`: the bytes that are none of what is left, or undefined where too few are there. */
  #begin(bytes: Uint8Array, at: number, to: number): number | undefined {
    if (this.#rest > 0) return this.#beginFrame(bytes, at, to);
    const header = headerOf(bytes, at, to);
    if (header === undefined) return undefined;
    const { opcode, length } = header;
    if (opcode === OPCODE.close) throw new Error("a subscriber was cut off");
    if (opcode === OPCODE.ping) this.#reply(PONG);
    const isMessage = opcode === OPCODE.text || opcode === OPCODE.binary;
    this.#pending = isMessage && this.#counting === "messages" ? 1 : 0;
    if (isMessage && this.#counting === "runs") {
      this.#rest = length;
      return header.bytes;
    }
    this.#left = length;
    if (length === 0) this.events += this.#pending;
    return header.bytes;
  }

  #beginFrame(bytes: Uint8Array, at: number, to: number): 0 | undefined {
    if (to - at < 4) return undefined;
    const length = 4 + wordAt(bytes, at);
    if (to - at < Math.min(length, RUN.headBytes)) return undefined;
    this.#pending = eventsOf(bytes, at, length);
    this.#left = length;
    this.#rest -= length;
    return 0;
  }

  #pass(bytes: number): void {
    this.#left -= bytes;
    if (typeof this.#counting === "object") {
      this.#unitBytesSeen += bytes;
      this.events = Math.floor(this.#unitBytesSeen / this.#counting.unitBytes);
    } else if (this.#left === 0) {
      this.events += this.#pending;
    }
  }
}

function eventsOf(bytes: Uint8Array, frame: number, length: number): number {
  if (length < RUN.headBytes) return 0;
  for (let i = 0; i < RUN.sign.length; i++) if (bytes[frame + RUN.signAt + i] !== RUN.sign[i]) return 0;
  return wordAt(bytes, frame + RUN.countAt);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) +
    (bytes[at + 1] as number) * 0x100 +
    (bytes[at + 2] as number) * 0x1_0000 +
    (bytes[at + 3] as number) * 0x100_0000
  );
}
