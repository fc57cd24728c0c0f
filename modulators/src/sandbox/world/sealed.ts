import { lockdown } from "./lockdown.ts";

/*
 * The inside of a sandbox for anybody's code: the world, in a realm of its own. The engine takes it from a variable of that realm, which is
 * removed when the realm is sealed.
 */
export * from "./bridge.ts";
export { rehearse } from "./rehearsal.ts";

/** Seals the realm: removes the way to the world, and all that leads out of it. No code of the modulator may run before. */
export function seal(): number {
  Reflect.deleteProperty(globalThis, "jechoWorld");
  lockdown();
  return 0;
}
