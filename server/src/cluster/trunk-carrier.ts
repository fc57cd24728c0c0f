/** An ordered way to another gateway for messages. What it cannot deliver ends it: nothing is missing in between. */
export interface TrunkCarrier {
  /** Sends a message, which may be overwritten when this returns. */
  send(parts: readonly Uint8Array[]): void;
  /** Bytes that wait to go out. */
  readonly waitingBytes: number;
  /** Ends it without a further word. */
  end(): void;
}

/** What happens on a carrier, for the gateway at this end. */
export interface CarrierEvents {
  /** @param message begins at a multiple of 8 of its buffer, and is the receiver's own */
  message(message: Uint8Array): void;
  /** What had waited has gone out. */
  drained(): void;
  /** Nothing comes any more, and nothing is to be sent. */
  ended(): void;
}

/** Connects the gateways of a cluster. `server/test/cluster/tcp-carriers.test.ts` says what each implementation has to do. */
export interface Carriers {
  /**
   * Takes carriers that other gateways open to this one, and opens one to each of them, again and again as long as it is not there.
   *
   * @param opened a carrier that this gateway has opened to the one with this index is there
   * @param accepted a carrier that the other has opened is there
   */
  start(
    opened: (index: number, carrier: TrunkCarrier) => CarrierEvents,
    accepted: (index: number, carrier: TrunkCarrier) => CarrierEvents,
  ): Promise<void>;
  stop(): Promise<void>;
}
