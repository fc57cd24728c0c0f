import type { HistoryStore } from "../history/store.ts";
import type { StreamStoreHost } from "../history/stream-store.ts";
import type { CarrierEvents, TrunkCarrier } from "./trunk-carrier.ts";

/** Listener of a cluster: a gateway. */
export interface ClusterEvents {
  /** The gateway with this index is a member from now on: it may be the home of channels. */
  came(index: number): void;
  /** The gateway with this index is no member any more. */
  left(index: number): void;
  /** A carrier that this gateway has opened to the one with this index is there. */
  opened(index: number, carrier: TrunkCarrier): CarrierEvents;
  /** A carrier that the other has opened is there. */
  accepted(index: number, carrier: TrunkCarrier): CarrierEvents;
  /** This gateway is no member for now, and has no carriers. Until it is one again it hears of no others. */
  parted(why: string): void;
  /** This gateway is a member again. @param wasReplaced others may have been the homes of its channels meanwhile */
  rejoined(wasReplaced: boolean): void;
  /** This gateway cannot be a member again, and has to end. */
  expelled(why: string): void;
}

/**
 * Joins the gateways of a cluster: tells which of them are members, and carries messages between each two. `server/test/cluster/interconnect.test.ts` says
 * what each implementation has to do.
 */
export interface Interconnect {
  /** Index of this gateway: no two members have the same. */
  readonly self: number;
  /** Number of gateways, where all are homes, whether they are there or not. */
  readonly homes: number | undefined;
  /** The identity that all members have in the names of channels. */
  readonly identity: string;
  /** Whether this gateway is a member at this very moment: nothing may be done in the name of a home otherwise. */
  readonly isMember: boolean;
  /** A gateway's name for the log. */
  nameOf(index: number): string;
  /**
   * Takes carriers that other members open to this one, and opens one to each of them, again and again as long as it is not there. Resolves when
   * those that are there are known.
   *
   * @throws JechoError `ARGUMENT_INVALID` where this gateway cannot be reached at its address
   */
  start(events: ClusterEvents): Promise<void>;
  /** The store of durable histories for the next home of a channel; undefined where there is none. */
  openHistory(host: Omit<StreamStoreHost, "isMember">): Promise<HistoryStore | undefined>;
  /** Leaves the cluster. Messages that wait go out first, for as long as `FINISH_MS`. */
  stop(): Promise<void>;
}
