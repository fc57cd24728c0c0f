/** Produce and consume typed event channels, in browsers and in Node. */
export {
  type Aggregate,
  type AggregateOptions,
  aggregate,
  type ClusterOptions,
  cluster,
  compress,
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
  type StreamOptions,
  sample,
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
  type FieldInfo,
  JechoError,
  Type,
  type,
  typeScriptOf,
  unpack,
  type ValueOf,
} from "@jecho/shared";
export type { BackoffOptions } from "./backoff.ts";
export { EventChannel, type HistoryOptions, type ProduceOptions, type SubscribeOptions } from "./channel.ts";
export type { ConnectOptions } from "./connect-options.ts";
export { Consumer } from "./consumer.ts";
export type {
  ConsumerOptions,
  EagerHandler,
  EventInfo,
  EventPlace,
  Handler,
  Missed,
  QueueOptions,
  ResetOptions,
} from "./consumer-options.ts";
export type { Demand, DerivedDemand } from "./demand.ts";
export type { EventQueueOptions } from "./event-queue.ts";
export { type Inheritance, InheritedSubscription, type TakeOverOptions } from "./inheritance.ts";
export { type Codec, json } from "./json.ts";
export { modulatorFromFile } from "./modulator-file.ts";
export type { ProducerModulatorOptions } from "./open-options.ts";
export type { Placement } from "./placement.ts";
export type { ConcentratorPlace } from "./places/place.ts";
export { Producer, type SyncOptions, type WhenReadyOptions } from "./producer.ts";
export { connect, Session } from "./session.ts";
export type { AttachOptions, ShareOptions } from "./shared-copies.ts";
export { SharedObject } from "./shared-object.ts";
export type { Status } from "./status.ts";
export type { Versions } from "./versions.ts";
