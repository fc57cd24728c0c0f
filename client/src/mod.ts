/** Produce and consume typed event channels, in browsers and in Node. */
export {
  type Aggregate,
  type AggregateOptions,
  type AllowedModulators,
  aggregate,
  type ClusterOptions,
  type CropOptions,
  type CropWindow,
  cluster,
  compress,
  crop,
  type Delegate,
  type Demodulator,
  diff,
  downsample,
  type EventSource,
  encrypt,
  fifo,
  type GridChange,
  type GridData,
  type Json,
  type KeyPair,
  keyPair,
  type LatestPerKeyOptions,
  type Limits,
  latestPerKey,
  type Modulator,
  type ModulatorOptions,
  modulatorFrom,
  priority,
  quantise,
  rateLimit,
  type SigningKeys,
  type StreamOptions,
  sample,
  signingKeys,
  signModulator,
  type Value,
  type View,
  type ViewFilterOptions,
  type ViewReference,
  viewFilter,
} from "@jecho/modulators";
export {
  type Description,
  ERRORS,
  type ErrorCode,
  encodeEvent,
  type FieldInfo,
  JechoError,
  Type,
  type,
  typeFromSchema,
  typeScriptOf,
  unpack,
  type ValueOf,
} from "@jecho/shared";
export { EventChannel } from "./channel/channel.ts";
export { type Codec, json } from "./channel/codec.ts";
export type { BackoffOptions } from "./concentrator/backoff.ts";
export { Consumer } from "./consumer/consumer.ts";
export { modulatorFromFile } from "./consumer/modulator-file.ts";
export type { Placement } from "./consumer/placement.ts";
export type { Versions } from "./consumer/versions.ts";
export type { AttachOptions, ShareOptions } from "./objects/shared-copies.ts";
export { SharedObject } from "./objects/shared-object.ts";
export type { ConnectOptions, Neighbour } from "./options/connect-options.ts";
export type {
  ConsumerOptions,
  EagerHandler,
  EventInfo,
  EventPlace,
  Handler,
  Missed,
  PlaceInSource,
  QueueOptions,
  ResetOptions,
  SubscribeOptions,
  TakeOverOptions,
} from "./options/consumer-options.ts";
export type {
  HistoryOptions,
  ProduceOptions,
  ProducerModulatorOptions,
  SyncOptions,
  WhenReadyOptions,
} from "./options/producer-options.ts";
export type { TracedEvent, TracedRun, Tracing } from "./options/tracing.ts";
export type { ConcentratorPlace } from "./places/place.ts";
export type { Demand, DerivedDemand } from "./producer/demand.ts";
export { Producer } from "./producer/producer.ts";
export type { EventQueueOptions } from "./queues/queue-options.ts";
export { type Inheritance, InheritedSubscription } from "./session/inheritance.ts";
export type {
  ChannelCounts,
  ChannelStanding,
  DerivedStanding,
  GatewayOverview,
  ModulatorPlace,
} from "./session/overview.ts";
export { connect, Session } from "./session/session.ts";
export type { Status } from "./session/status.ts";
