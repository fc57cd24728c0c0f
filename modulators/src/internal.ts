/** What our own packages need besides `mod.ts`. */
export { type Offer, offersOf } from "./delegate.ts";
export { LentRun } from "./lent-run.ts";
export { type ModulatorTable, modulatorTable } from "./modulator.ts";
export type { Provenance } from "./provenance.ts";
export type { Declared } from "./sandbox/sandbox.ts";
export type { Tier, TierEvents } from "./tier.ts";
export { copyValue, sameValue, sizeOf } from "./values.ts";
