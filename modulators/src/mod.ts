/** Eager handlers, for users: how a modulator is described, and the standard ones. Runs in browsers, too. */

export type { AllowedModulators } from "./authoring/allowed.ts";
export type { Delegate } from "./authoring/delegate.ts";
export {
  canonicalJson,
  type Demodulator,
  type EventSource,
  type HandlerPair,
  type Json,
  type Modulator,
  modulatorKey,
  type SharedReference,
} from "./authoring/modulator.ts";
export { modulatorFrom } from "./authoring/modulator-from.ts";
export { type SigningKeys, signingKeys, signModulator } from "./authoring/signature.ts";
export type { Limits } from "./sandbox/sandbox.ts";
export type { Value } from "./sandbox/values.ts";
export { encrypt, type KeyPair, keyPair } from "./standard/encryption.ts";
export {
  type Aggregate,
  type AggregateOptions,
  aggregate,
  type ClusterOptions,
  type CropOptions,
  type CropWindow,
  cluster,
  compress,
  crop,
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
} from "./standard/modulators.ts";
export type { ModulatorOptions } from "./tiers/environment.ts";
