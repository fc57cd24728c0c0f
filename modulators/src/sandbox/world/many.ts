import { bridgeMemory } from "./bridge.ts";
import { eventsMemory } from "./events.ts";
import type { Memory } from "./memory.ts";
import { moeMemory } from "./moe.ts";
import { objectsMemory } from "./objects.ts";
import { outboxMemory } from "./outbox.ts";
import { servicesMemory } from "./services.ts";
import { turnMemory } from "./turn.ts";

/*
 * The world without a wall. One serves all modulators that the process trusts like itself: the engine optimises its code once for all of them,
 * and an installation compiles nothing.
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

/** Makes this the memory that calls of the world use. @returns the memory that they used before */
export function exchangeMemory(memory: WorldMemory): WorldMemory {
  const left = MODULES.map(({ leave }) => leave());
  for (let i = 0; i < MODULES.length; i++) (MODULES[i] as Memory<object>).enter(memory[i] as object);
  return left;
}
