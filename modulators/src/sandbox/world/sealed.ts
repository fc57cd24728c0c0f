import { lockdown } from "./lockdown.ts";

/*
 * The inside of a sandbox whose code is anybody's: the world, in a realm of its own. It stands in a variable of the realm,
 * which is how the engine gets hold of it, until it is sealed.
 */
export * from "./bridge.ts";
export { rehearse } from "./rehearsal.ts";

/** The realm loses the way to the world, and what leads out of it: nothing of the modulator's may run before. */
export function seal(): number {
  Reflect.deleteProperty(globalThis, "jechoWorld");
  lockdown();
  return 0;
}
