/** What our own packages need besides `mod.ts`. */
export { type ModulatorTable, modulatorTable } from "./modulator.ts";
