/** Eager handlers, for users: how a modulator is described, and the standard ones. Runs in browsers, too. */
export { modulatorFrom } from "./authoring.ts";
export type { Delegate } from "./delegate.ts";
export { encrypt, type KeyPair, keyPair } from "./encryption.ts";
export type { ModulatorOptions } from "./environment.ts";
export {
  canonicalJson,
  type Demodulator,
  type EagerHandler,
  type EventSource,
  type Json,
  type Modulator,
  modulatorKey,
  type SharedReference,
} from "./modulator.ts";
export type { Limits } from "./sandbox/sandbox.ts";
export {
  type Aggregate,
  type AggregateOptions,
  aggregate,
  type ClusterOptions,
  cluster,
  compress,
  diff,
  downsample,
  fifo,
  type GridChange,
  type GridData,
  type LatestPerKeyOptions,
  latestPerKey,
  type PackedGrid,
  priority,
  quantise,
  rateLimit,
  type StreamOptions,
  sample,
  type View,
  type ViewFilterOptions,
  type ViewReference,
  viewFilter,
} from "./standard.ts";
export type { Value } from "./values.ts";
