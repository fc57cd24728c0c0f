import { bridgeMemory } from "./bridge.ts";
import { eventsMemory } from "./events.ts";
import type { Memory } from "./memory.ts";
import { moeMemory } from "./moe.ts";
import { objectsMemory } from "./objects.ts";
import { outboxMemory } from "./outbox.ts";
import { servicesMemory } from "./services.ts";
import { turnMemory } from "./turn.ts";

/*
 * The world where there is no wall. One serves all modulators that the process trusts as it trusts itself: what an engine has
 * learned about the code it has learned for all of them, and an installation makes nothing anew.
 */
export * from "./bridge.ts";

const MODULES = [
  bridgeMemory,
  eventsMemory,
  moeMemory,
  objectsMemory,
  outboxMemory,
  servicesMemory,
  turnMemory,
] as readonly Memory<object>[];

/** One modulator's memory, module by module. */
export type WorldMemory = readonly object[];

/** The memory of a modulator to come. */
export function blankMemory(): WorldMemory {
  return MODULES.map(({ blank }) => blank());
}

/** Calls of the world are this modulator's from here on. @returns the memory of the one whose they were */
export function exchangeMemory(memory: WorldMemory): WorldMemory {
  const left = MODULES.map(({ leave }) => leave());
  for (let i = 0; i < MODULES.length; i++) (MODULES[i] as Memory<object>).enter(memory[i] as object);
  return left;
}
