/** An ordered way to another gateway for messages. What it cannot deliver ends it: nothing is missing in between. */
export interface TrunkCarrier {
  /** Sends a message, which may be overwritten when this returns. Where more than `MOST_WAITING_BYTES` wait, the carrier ends. */
  send(parts: readonly Uint8Array[]): void;
  /** Bytes that wait to go out. */
  readonly waitingBytes: number;
  /** Ends it without a further word. */
  end(): void;
}

/** Listener of a carrier: the gateway at this end. */
export interface CarrierEvents {
  /** @param message begins at a multiple of 8 of its buffer, and is the receiver's own */
  message(message: Uint8Array): void;
  /** All messages that had waited have gone out. */
  drained(): void;
  /** Nothing comes any more, and nothing is to be sent. */
  ended(): void;
}

/** Longest time that a gateway which stops waits for others to take what it has for them. */
export const FINISH_MS = 10_000;
/** Bytes of messages that may wait on a carrier: the other side takes nothing any more. */
export const MOST_WAITING_BYTES = 128 << 20;
