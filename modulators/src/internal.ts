/** The face for our own packages, besides `mod.ts`. */
export { checkAllowed } from "./authoring/allowed.ts";
export { type Offer, offersOf } from "./authoring/delegate.ts";
export { type ModulatorTable, modulatorTable } from "./authoring/modulator.ts";
export type { Provenance } from "./running/provenance.ts";
export type { Declared } from "./sandbox/sandbox.ts";
export { copyValue, sameValue, sizeOf } from "./sandbox/values.ts";
export { LentRun } from "./tiers/lent-run.ts";
export type { Environment, Tier, TierEvents } from "./tiers/tier.ts";
