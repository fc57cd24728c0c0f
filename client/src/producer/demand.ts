import type { Json } from "@jecho/modulators";

/** One derived channel that somebody listens to. */
export interface DerivedDemand {
  /** The derived channel's number at the gateway; changes with the connection. */
  readonly id: number;
  /** Parameters of its modulator; null where it has none. */
  readonly parameters: Json;
  /** The current states of the shared objects that its modulator reads, by their names in it. */
  readonly objects: Readonly<Record<string, Json>>;
  /** Everywhere. */
  readonly consumers: number;
  /**
   * Events a second that its modulator wants at most of a producer (`mostPerSecond` of its class); Infinity for every event. Of one
   * behind others it is what the first of them wants. It may change with the state of shared objects.
   */
  readonly mostPerSecond: number;
  /** The subject whose consumer was the first to bring its modulator; undefined where the gateway knows no users. */
  readonly by: string | undefined;
}

/** Demand for a producer's channel at this moment. Counts are of consumers; consumers stay anonymous. */
export interface Demand {
  /** Consumers of the channel itself, everywhere. */
  readonly consumers: number;
  /** Derived channels that somebody listens to. */
  readonly derived: readonly DerivedDemand[];
  /** Consumers in all. Where it is 0, nobody would see an event. */
  readonly total: number;
  /**
   * Events a second that are wanted at most: what is raised beyond that is of no use to anybody. The greatest of the derived channels that
   * have consumers; Infinity where somebody wants every event, as do consumers of the channel itself, among whom count modulators
   * that run elsewhere than with the producer; 0 where nobody listens.
   */
  readonly mostPerSecond: number;
}

export const NO_DEMAND: Demand = { consumers: 0, derived: [], total: 0, mostPerSecond: 0 };

/** A shared object has a new state: which derived channels' modulators read it, and by which name. */
export interface StateOfReaders {
  readonly readers: readonly { readonly id: number; readonly name: string }[];
  /** JSON. */
  readonly state: string;
}

/** The same demand with a new state of an object. Who is not there yet comes with it. */
export function withState(demand: Demand, { readers, state: text }: StateOfReaders): Demand {
  const state = JSON.parse(text) as Json;
  const derived = demand.derived.map(channel => {
    let { objects } = channel;
    for (const { id, name } of readers) if (id === channel.id) objects = { ...objects, [name]: state };
    return objects === channel.objects ? channel : { ...channel, objects };
  });
  return { ...demand, derived };
}
