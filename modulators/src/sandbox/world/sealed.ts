import { lockdown } from "./lockdown.ts";

/* The inside of a sandbox whose code is anybody's: the world, in a realm of its own that has lost what leads out of it. */
export * from "./bridge.ts";

lockdown();
