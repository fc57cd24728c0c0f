import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { QueuePolicy } from "../delivery/listener.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Outlet } from "./outlet.ts";

/** A producer, as its channel's manager knows it. */
export class Producer {
  // What each run needs comes first, for it to lie together in memory.
  readonly connection: Connection;
  /** The manager's. */
  readonly channel: Channel;
  /** What it publishes into, where that is a derived channel. */
  readonly outlet: Outlet | undefined;
  /** The type that it writes; 0 on an untyped channel. */
  readonly token: bigint;
  readonly number: number;
  readonly manager: ChannelManager;
  /** Can its process run modulators? */
  readonly modulates: boolean;
  /** By which its events are counted. */
  readonly source: bigint;

  constructor(
    number: number,
    connection: Connection,
    manager: ChannelManager,
    token: bigint,
    modulates: boolean,
    source: bigint,
    outlet?: Outlet,
  ) {
    this.number = number;
    this.connection = connection;
    this.manager = manager;
    this.channel = manager.channel;
    this.outlet = outlet;
    this.token = token;
    this.modulates = modulates;
    this.source = source;
  }
}

/** What a consumer reads; all consumers of it share one. */
export interface Place {
  readonly manager: ChannelManager;
  readonly channel: Channel;
  /** Undefined for the channel itself. */
  readonly derived: DerivedChannel | undefined;
  /** Not 0: only what this process raises is read, for a modulator that runs in its stead. */
  readonly feed: number;
}

/** What a consumer asked for; most share the usual ones. */
export interface Terms {
  /** What is done for it when it does not keep up. */
  readonly queue: QueuePolicy;
  /** The application's own word for it. */
  readonly label: string;
  /** The name that it gave its derived channel. */
  readonly as: string;
}
