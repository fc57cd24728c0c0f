import { inStream, TrunkReader } from "./message-stream.ts";
import { type CarrierEvents, MOST_WAITING_BYTES, type TrunkCarrier } from "./trunk-carrier.ts";

/*
 * A carrier over NATS is a stream of bytes each way, cut into packets. NATS may lose any of them, so each says how many bytes were before it, and whoever finds that
 * some are missing ends the carrier. The receiver says how far it is: no more than a window is under way, for a NATS server cuts off those who do not keep up.
 */

/** Kinds of packets. */
export const PACKET = {
  /** Opens a carrier: JSON, who asks. */
  open: 1,
  opened: 2,
  /** Bytes of the stream; the count is of those before them. */
  data: 3,
  /** Are all that I have sent there? The count is of those. */
  ask: 4,
  /** Bytes that have come. */
  taken: 5,
  end: 6,
} as const;

/** Sends a packet to the other side. */
export type SendPacket = (kind: number, count: number, parts: readonly Uint8Array[]) => void;

/** Bytes of a packet: NATS handles larger ones no faster, and lets others wait behind them. */
const PACKET_BYTES = 64 << 10;
/** Bytes under way that are not known to have come. A NATS server keeps 64 MiB for a connection, which has a few dozen carriers. */
const WINDOW_BYTES = 1 << 20;
/** Bytes after which the receiver says how far it is. */
const TAKEN_EVERY_BYTES = WINDOW_BYTES >> 2;
/** Time that the other side may say nothing until it is asked whether all has come. */
const ASK_MS = 500;
/** The same where the other side is known to have all: then the question is only whether it is there. */
const IDLE_ASK_MS = 2000;
/** Looks, ten a second, until a side that does not answer counts as gone: not time, in which this process may itself have stood still. */
const ANSWER_LOOKS = 25;

export class NatsCarrier implements TrunkCarrier {
  readonly #send: SendPacket;
  /** Least of what the servers take as one message, and what is best. */
  readonly #packetBytes: () => number;
  readonly #onEnd: () => void;
  #onSent: () => void = () => {};
  readonly #reader: TrunkReader;
  #events: CarrierEvents | undefined;
  #isOpen = true;
  /** Messages that wait for room in the window, and what of the first has gone. */
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #firstSent = 0;
  #isGathering = false;
  #sentBytes = 0;
  #takenBytes = 0;
  #askedAt = 0;
  /** Looks since the first question that is not answered, with that one; 0: all are. */
  #unansweredLooks = 0;
  /** When the other side last said what has come. */
  #goodAt = performance.now();
  #receivedBytes = 0;
  #toldBytes = 0;

  /**
   * @param maxPayload bytes that the servers take as one message, without the packet's header
   * @param onEnd called once, when it ends from either side
   */
  constructor(send: SendPacket, maxPayload: () => number, onEnd: () => void) {
    this.#send = send;
    this.#packetBytes = () => Math.min(PACKET_BYTES, maxPayload());
    this.#onEnd = onEnd;
    this.#reader = new TrunkReader(message => this.#events?.message(message));
  }

  /** Whether both sides know of it. */
  get hasBegun(): boolean {
    return this.#events !== undefined;
  }

  begin(events: CarrierEvents): void {
    this.#events = events;
    this.#goodAt = performance.now();
  }

  get waitingBytes(): number {
    return this.#queuedBytes;
  }

  send(parts: readonly Uint8Array[]): void {
    if (!this.#isOpen) return;
    const whole = inStream(parts);
    this.#queue.push(whole);
    this.#queuedBytes += whole.byteLength;
    if (this.#queuedBytes > MOST_WAITING_BYTES) return this.end();
    if (this.#queuedBytes >= PACKET_BYTES) return this.#write();
    if (this.#isGathering) return;
    this.#isGathering = true;
    queueMicrotask(() => {
      this.#isGathering = false;
      this.#write();
    });
  }

  /** Resolves when nothing waits, or it has ended. */
  sent(): Promise<void> {
    if (this.#queuedBytes === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.#onSent = resolve;
    });
  }

  end(): void {
    if (this.#isOpen) this.#send(PACKET.end, 0, []);
    this.close();
  }

  /** Ends it at this side alone. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#onSent();
    this.#onEnd();
    // Whoever ends it is in the midst of something.
    queueMicrotask(() => this.#events?.ended());
  }

  /** A packet has come. */
  packet(kind: number, count: number, bytes: Uint8Array): void {
    switch (kind) {
      case PACKET.data:
        return this.#take(count, bytes);
      case PACKET.ask:
        if (count !== this.#receivedBytes) return this.end();
        // So it is there, and need not be asked.
        if (this.#isIdle) this.#good();
        return this.#tell();
      case PACKET.taken:
        return this.#taken(count);
      case PACKET.end:
        return this.close();
      default:
    }
  }

  /** Asks whether all has come, and ends a carrier whose other side does not answer: to be called ten times a second. */
  look(now: number): void {
    if (this.#unansweredLooks > 0 && ++this.#unansweredLooks > ANSWER_LOOKS) return this.end();
    const askMs = this.#isIdle ? IDLE_ASK_MS : ASK_MS;
    if (now - this.#goodAt < askMs || now - this.#askedAt < ASK_MS) return;
    this.#askedAt = now;
    if (this.#unansweredLooks === 0) this.#unansweredLooks = 1;
    this.#send(PACKET.ask, this.#sentBytes, []);
  }

  #good(): void {
    this.#goodAt = performance.now();
    this.#unansweredLooks = 0;
  }

  /** Whether the other side has said that it has all. */
  get #isIdle(): boolean {
    return this.#queuedBytes === 0 && this.#takenBytes === this.#sentBytes;
  }

  /** Sends what the window has room for. */
  #write(): void {
    while (this.#queuedBytes > 0 && this.#isOpen) {
      const room = Math.min(WINDOW_BYTES - (this.#sentBytes - this.#takenBytes), this.#packetBytes());
      if (room <= 0) return;
      const parts: Uint8Array[] = [];
      let bytes = 0;
      let messages = 0;
      while (bytes < room && messages < this.#queue.length) {
        const message = this.#queue[messages] as Uint8Array;
        const part = message.subarray(this.#firstSent, this.#firstSent + room - bytes);
        parts.push(part);
        bytes += part.byteLength;
        this.#firstSent += part.byteLength;
        if (this.#firstSent < message.byteLength) break;
        this.#firstSent = 0;
        messages++;
      }
      this.#queue.splice(0, messages);
      this.#queuedBytes -= bytes;
      this.#send(PACKET.data, this.#sentBytes, parts);
      this.#sentBytes += bytes;
    }
  }

  #take(count: number, bytes: Uint8Array): void {
    if (!this.#isOpen) return;
    if (count !== this.#receivedBytes) return this.end();
    this.#receivedBytes += bytes.byteLength;
    try {
      this.#reader.take(bytes);
    } catch {
      return this.end();
    }
    if (this.#receivedBytes - this.#toldBytes >= TAKEN_EVERY_BYTES) this.#tell();
  }

  #tell(): void {
    this.#toldBytes = this.#receivedBytes;
    this.#send(PACKET.taken, this.#receivedBytes, []);
  }

  #taken(count: number): void {
    if (count < this.#takenBytes || count > this.#sentBytes) return;
    this.#takenBytes = count;
    this.#good();
    const hadWaiting = this.#queuedBytes > 0;
    this.#write();
    if (!hadWaiting || this.#queuedBytes > 0) return;
    this.#events?.drained();
    this.#onSent();
  }
}
