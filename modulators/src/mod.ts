/** Eager handlers, for users: how a modulator is described, and the standard ones. Runs in browsers, too. */
export type { Delegate } from "./delegate.ts";
export {
  canonicalJson,
  type Demodulator,
  type EagerHandler,
  type Json,
  type Modulator,
  modulatorKey,
  type SharedReference,
} from "./modulator.ts";
export {
  diff,
  fifo,
  type GridChange,
  type GridData,
  type View,
  type ViewReference,
  viewFilter,
} from "./standard.ts";
export type { Value } from "./values.ts";
