import type { ConsumerOpened, Frame } from "@jecho/shared/internal";
import type { Delegates } from "../modulation/delegates.ts";
import type { Deriving } from "../modulation/deriving.ts";
import type { Feeds } from "../modulation/feeds.ts";
import type { Modulation } from "../modulation/modulation.ts";
import type { PastEvents } from "../modulation/past.ts";
import type { QueueReaders, QueueReadersEvents } from "../queues/queue-readers.ts";
import type { ConsumerEndpoint, OwnPast, PortEnd } from "./endpoints/endpoint.ts";
import type { EndedSources } from "./incoming/ended-sources.ts";
import type { Demands } from "./outgoing/demands.ts";
import type { Departures } from "./outgoing/departures.ts";
import type { Hold } from "./outgoing/hold.ts";
import type { OwnLanes } from "./outgoing/lane.ts";
import type { Outbox } from "./outgoing/outbox.ts";
import type { Raising } from "./outgoing/raising.ts";

/** Frames for the parts that produce events. */
export type ProductionFrame = Extract<
  Frame,
  { kind: "Demand" | "Install" | "Remove" | "Drain" | "ObjectUpdate" }
>;

/** Parts of a concentrator that take producers' events and run modulators. */
export interface Production {
  readonly lanes: OwnLanes;
  readonly outbox: Outbox;
  readonly hold: Hold;
  readonly modulation: Modulation;
  readonly deriving: Deriving;
  readonly feeds: Feeds;
  readonly ended: EndedSources;
  readonly raising: Raising;
  readonly demands: Demands;
  readonly departures: Departures;
  readonly delegates: Delegates;
  queuesOf(port: PortEnd, events: QueueReadersEvents): QueueReaders;
  /** Whether a newly opened consumer's past is to be made here, of which the gateway does not know that. */
  lacksPast(consumer: ConsumerEndpoint, opened: ConsumerOpened): boolean;
  /**
   * The past of a consumer with a modulator, to be made here from its beginning on.
   *
   * @param isAll whether the gateway has nothing of it, wherever it was made
   */
  newPast(consumer: ConsumerEndpoint, isAll: boolean, events: PastEvents): OwnPast & { begin(): void };
  /** Acts on a frame of the gateway's. */
  take(frame: ProductionFrame): void;
}
