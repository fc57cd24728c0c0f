import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import type { Modulator } from "@jecho/shared/internal";
import type { Demand, DerivedDemand } from "./demand.ts";

/** A producer of this process, as its concentrator knows it. */
export interface ProducerEntry {
  readonly is: "producer";
  readonly endpoint: number;
  readonly channel: string;
  readonly schema: Uint8Array;
  /** The type that it writes; 0n on an untyped channel. */
  readonly token: bigint;
  /** What its delegate offers to modulators, if it has one. */
  readonly offers: readonly Offer[] | undefined;
  /** The newest views of its state, by name. */
  readonly context: Map<string, Value>;
  /** At the present connection; 0 while there is none. */
  channelNumber: number;
  number: number;
  /** Count that its next event gets; goes on over reconnects. The first is 1. */
  raised: number;
  /** Consumers of the channel in other processes. */
  elsewhere: number;
  open?: boolean;
  /** Has it ever been open? Then it is opened again whatever passing trouble comes. */
  wasOpen?: boolean;
}

/** A consumer of this process, as its concentrator knows it. */
export interface ConsumerEntry {
  readonly is: "consumer";
  readonly endpoint: number;
  readonly channel: string;
  readonly schema: Uint8Array;
  modulator: Modulator | undefined;
  channelNumber: number;
  number: number;
  wasOpen?: boolean;
  /** The newest reset that was asked for. */
  reset?: number;
  /** What holds until that reset is answered. */
  before?: { readonly modulator: Modulator | undefined };
}

export type EndpointEntry = ProducerEntry | ConsumerEntry;

export function wantedOf(consumers: number, derived: readonly DerivedDemand[]): Demand {
  return { consumers, derived, total: derived.reduce((sum, { consumers }) => sum + consumers, consumers) };
}
