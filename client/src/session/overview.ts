import type { Overview, OverviewPlace } from "@jecho/shared/internal";
import { type Placement, placementOf } from "../consumer/placement.ts";

/** A gateway's channels and modulators at one moment. Counts begin when a channel came to be there, so that two of these tell rates. */
export interface GatewayOverview {
  /** Connections of clients. */
  readonly connections: number;
  /** Channels in all. */
  readonly channels: number;
  /** Channels that match the pattern. */
  readonly matching: number;
  /** The first 1,000 of the matching channels. */
  readonly of: readonly ChannelStanding[];
}

/** Counts of a channel or derived channel. */
export interface ChannelCounts {
  /** Consumers, those included that are expected back. Those in a producer's own process the gateway does not see. */
  readonly consumers: number;
  /** Events that came in. */
  readonly events: number;
  /** Bytes of these, as they crossed the wire. */
  readonly bytes: number;
  /** Events that were dropped for consumers that did not keep up, once for each process that missed them. */
  readonly dropped: number;
  /** Bytes of events that are kept. */
  readonly historyBytes: number;
}

/** A channel as the gateway knows it. */
export interface ChannelStanding extends ChannelCounts {
  /** The user's part of its name. */
  readonly name: string;
  /** The numbering of the counts: a new one if the channel has gone and come back. */
  readonly epoch: number;
  /** Names of the types that its present producers write. */
  readonly types: readonly string[];
  /** Producers that are open. */
  readonly producers: number;
  /** Whether producers were asked to wait for consumers. */
  readonly blocked: boolean;
  /** Channels that modulators make of it. */
  readonly derived: readonly DerivedStanding[];
}

/** A derived channel as the gateway knows it. */
export interface DerivedStanding extends ChannelCounts {
  /** The derived channel's number at the gateway. */
  readonly number: number;
  /** Number of the derived channel that it is made of; 0 for the channel itself. */
  readonly behind: number;
  /** Names that consumers gave it (`as`). */
  readonly names: readonly string[];
  /** Subject that brought its modulator; "" at a gateway without keys. */
  readonly by: string;
  /** SHA-256 of the modulator's text, as hexadecimal digits. */
  readonly digest: string;
  /** Places where the modulator runs. */
  readonly places: readonly ModulatorPlace[];
}

/** A modulator's place for some producers, and the resources that it has used there. */
export interface ModulatorPlace extends Placement {
  /** Processes that run it: several only with consumers. */
  readonly processes: number;
  /** Processor time that it took, in milliseconds, since it was installed; 0 where it runs in the producer's thread, as local and compiled ones do. */
  readonly cpuMs: number;
  /** Events that it was given there. */
  readonly events: number;
  /** Events that fell out of a queue before it or in it, or that it cannot read. */
  readonly dropped: number;
  /** Times that it began anew, without the state that it had. */
  readonly restarts: number;
}

/** An overview as applications have it. */
export function overviewOf({ connections, channels, matching, of }: Overview): GatewayOverview {
  return {
    connections,
    channels,
    matching,
    of: of.map(({ derived, ...channel }) => ({
      ...counted(channel),
      derived: derived.map(({ places, ...one }) => ({ ...counted(one), places: places.map(placeOf) })),
    })),
  };
}

type Counts = "events" | "bytes" | "dropped" | "historyBytes";

function counted<T extends Readonly<Record<Counts, bigint>>>(
  of: T,
): Omit<T, Counts> & Record<Counts, number> {
  const { events, bytes, dropped, historyBytes } = of;
  return {
    ...of,
    events: Number(events),
    bytes: Number(bytes),
    dropped: Number(dropped),
    historyBytes: Number(historyBytes),
  };
}

function placeOf(place: OverviewPlace): ModulatorPlace {
  const { cpuMs, restarts, processes, events, dropped } = place;
  const used = { cpuMs, restarts, processes };
  return { ...placementOf(place), ...used, events: Number(events), dropped: Number(dropped) };
}
