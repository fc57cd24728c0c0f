import type { Json } from "@jecho/modulators";

/** One derived channel that somebody listens to. */
export interface DerivedDemand {
  /** The derived channel's number at the gateway; changes with the connection. */
  readonly id: number;
  readonly parameters: Json;
  /** The current states of the shared objects that its modulator reads, by their names in it. */
  readonly objects: Readonly<Record<string, Json>>;
  readonly consumers: number;
}

/** What is wanted of a producer's channel at this moment. Counts are of consumers; endpoints stay anonymous. */
export interface Demand {
  /** Consumers of the channel itself, everywhere. */
  readonly consumers: number;
  readonly derived: readonly DerivedDemand[];
  /** Consumers in all. Where it is 0, nobody would see an event. */
  readonly total: number;
}

export const NO_DEMAND: Demand = { consumers: 0, derived: [], total: 0 };
