/**
 * Bounds of what others can make a gateway keep: options of `createGateway`. A client that would go beyond one is
 * refused with the code named there, and nobody else notices.
 */
export interface GatewayLimits {
  /** The largest message taken, in bytes; 16 MiB by default. A larger one ends the connection. */
  readonly limitBytes?: number;
  /** Connections; 100,000 by default. `OVERLOADED` */
  readonly connections?: number;
  /** Connections from one address, of IPv6 from one network of 64 bits; 20,000 by default, for a proxy's are all from one. `OVERLOADED` */
  readonly connectionsPerAddress?: number;
  /** Connections of one subject, at a gateway with keys; 20,000 by default. `OVERLOADED` */
  readonly connectionsPerSubject?: number;
  /**
   * Frames that the connections of one address send per second on average, and those of one subject; 500,000 by default. A frame is a request, an answer, or a run of
   * events. Ten seconds' worth may come at once. `OVERLOADED` ends the connection.
   */
  readonly framesPerSecond?: number;
  /** Bytes, likewise; 1 GiB by default. `OVERLOADED` ends the connection. */
  readonly bytesPerSecond?: number;
  /** Producers and consumers that one connection may have; 100,000 by default. `OVERLOADED` */
  readonly endpointsPerConnection?: number;
  /** Channels that are in use or whose history is in memory; 250,000 by default. `OVERLOADED` */
  readonly channels?: number;
  /** Names that consumers may give what is derived from one channel; 1,024 by default. `OVERLOADED` */
  readonly namesPerChannel?: number;
  /** Modulators that one connection may have installed; 64 by default. `MODULATOR_QUOTA_EXCEEDED` */
  readonly modulatorsPerConnection?: number;
  /** Modulators that an event may go through one behind the other; 16 by default. `MODULATOR_QUOTA_EXCEEDED` */
  readonly modulatorsInARow?: number;
  /** Characters of a modulator's source, and as many of all else that it is made with; 262,144 by default. `MODULATOR_TOO_LARGE` */
  readonly modulatorLength?: number;
  /** Shared objects that one connection may bring or have a copy of; 1,024 by default. `OVERLOADED` */
  readonly objectsPerConnection?: number;
  /** Characters of a subscription's label; 1,024 by default. `ARGUMENT_INVALID` */
  readonly labelLength?: number;
  /** Bytes of a type's schema; 128 KiB by default, enough for several hundred fields. `TYPE_INVALID` */
  readonly schemaBytes?: number;
  /** Types that the events of one channel may be of at a time; 256 by default. `OVERLOADED` */
  readonly typesPerChannel?: number;
  /**
   * Bytes that are kept for the connections of one address, and for those of one subject: types, also of kept events and those that they declare of
   * modulators, modulators, labels and shared objects, 1 KiB for each producer, consumer and object besides, 4 KiB for each channel that they were
   * the first at, and 32 bytes for each acknowledgement that their producers wait for; 512 MiB by default. `OVERLOADED`
   */
  readonly keptBytes?: number;
  /** Bytes that may wait for one process on one channel, whatever it asks for; 8 MiB by default. Then its policy holds, or `SLOW_CONSUMER`. */
  readonly consumerQueueBytes?: number;
  /** Bytes that may wait for one process on all of its channels together; 64 MiB by default. Then its policy holds, or `SLOW_CONSUMER`. */
  readonly connectionQueueBytes?: number;
  /**
   * Bytes that may wait for all processes together, those that wait for many counted once; 512 MiB by default.
   * Then the queues of those processes are full for which most waits: their policies hold, or `SLOW_CONSUMER`.
   */
  readonly queueTotalBytes?: number;
  /**
   * Time that one process may have the producers of a channel wait for it (`block`), without making room
   * meanwhile, in milliseconds; 30,000 by default. Then it is cut off with `SLOW_CONSUMER`, and its subject
   * (at a gateway without keys, its address) may open no consumer that blocks for as long, and twice as long
   * after each further time.
   */
  readonly blockMs?: number;
  /** Bytes of events that are kept of one channel at most; 64 MiB by default. The oldest go, and are told as missing. */
  readonly historyBytes?: number;
  /** Bytes of events that are kept of all channels together; 512 MiB by default. The oldest go of those that keep most, and are told as missing. */
  readonly historyTotalBytes?: number;
}

/** All limits of a gateway, each said. */
export type KnownLimits = Required<GatewayLimits>;

/** Counts of what a gateway has at present. */
export interface GatewayStats {
  /** Connections of clients, whether they have said Hello or not. */
  readonly connections: number;
  /** Channels that are in use, or whose history is kept in memory. */
  readonly channels: number;
  /** Channels that modulators make of these. */
  readonly derivedChannels: number;
  /** Bytes of events that are kept of all channels together. */
  readonly historyBytes: number;
  /** Bytes of durable histories that wait to be stored. */
  readonly historyWaitingBytes: number;
  /** Bytes that wait for all connections together, those that wait for many counted once. */
  readonly queueBytes: number;
  /** Queues of consumers' processes that are full and have a channel's producers wait. */
  readonly blocking: number;
  /** Gateways of the cluster that are there, with this one: 1 for one that stands alone. */
  readonly gateways: number;
}

export const DEFAULT_LIMITS: KnownLimits = {
  limitBytes: 16 << 20,
  connections: 100_000,
  connectionsPerAddress: 20_000,
  connectionsPerSubject: 20_000,
  framesPerSecond: 500_000,
  bytesPerSecond: 1 << 30,
  endpointsPerConnection: 100_000,
  channels: 250_000,
  namesPerChannel: 1024,
  modulatorsPerConnection: 64,
  modulatorsInARow: 16,
  modulatorLength: 262_144,
  objectsPerConnection: 1024,
  labelLength: 1024,
  schemaBytes: 128 << 10,
  typesPerChannel: 256,
  keptBytes: 512 << 20,
  consumerQueueBytes: 8 << 20,
  connectionQueueBytes: 64 << 20,
  queueTotalBytes: 512 << 20,
  blockMs: 30_000,
  historyBytes: 64 << 20,
  historyTotalBytes: 512 << 20,
};

/** All limits: the defaults where nothing else is given. */
export function limitsOf(options: GatewayLimits): KnownLimits {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const name in DEFAULT_LIMITS)
    limits[name] = options[name as keyof GatewayLimits] ?? (limits[name] as number);
  return limits as unknown as KnownLimits;
}
