import type { Memory } from "./memory.ts";
import { freeze, hasOwn, isArray, keys, parse } from "./primordials.ts";
import { call } from "./services.ts";

/*
 * The modulator's copies of shared objects, and the versions that its output is made with: the input's versions, then those of its own
 * objects.
 */

const blank = () => ({
  states: { __proto__: null } as unknown as Record<string, unknown>,
  /** Index of each object's version among the own ones. */
  places: { __proto__: null } as unknown as Record<string, number>,
  /** Newest versions of lazy copies that are behind. */
  heard: { __proto__: null } as unknown as Record<string, number>,
  /** Lazy copies whose newest state is on its way. */
  pulled: { __proto__: null } as unknown as Record<string, boolean>,
  behind: [] as readonly number[],
  own: [] as number[],
  /** Versions of an event made now. The list is replaced, never changed. */
  present: { versions: [] as readonly number[], isPlain: true },
});
let { states, places, heard, pulled, behind, own, present } = blank();

export { present };

export const objectsMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => ({ states, places, heard, pulled, behind, own, present }),
  enter: memory => {
    ({ states, places, heard, pulled, behind, own, present } = memory);
  },
};

/** @param count number of objects that the modulators before this one read */
export function openVersions(count: number): void {
  const none: number[] = [];
  for (let i = 0; i < count; i++) none[i] = 0;
  setBehind(none);
}

/** Sets the versions of the input. */
export function setBehind(versions: readonly number[]): void {
  behind = versions;
  compose();
}

function compose(): void {
  const all: number[] = [];
  for (let i = 0; i < behind.length; i++) all[i] = behind[i] as number;
  for (let i = 0; i < own.length; i++) all[behind.length + i] = own[i] as number;
  present.versions = all;
  present.isPlain = behind.length === 0 && own.length <= 1;
}

/** Sets the state of a shared object, new or known. */
export function setObject(objects: object, name: string, version: number, state: string): void {
  if (!hasOwn(places, name)) {
    places[name] = own.length;
    const its = states;
    Object.defineProperty(objects, name, { get: () => its[name], enumerable: true });
  }
  states[name] = deepFreeze(parse(state));
  own[places[name] as number] = version;
  pulled[name] = false;
  compose();
}

/** Notes a newer version of a lazy copy's object. */
export function hear(name: string, version: number): void {
  heard[name] = version;
  pulled[name] = false;
}

/** Whether there is a newer state of this object than the modulator's copy has. */
export function isStale(name: unknown): boolean {
  if (typeof name !== "string" || !hasOwn(places, name))
    throw new TypeError("the name of a shared object that the modulator reads is wanted");
  return hasOwn(heard, name) && (heard[name] as number) > (own[places[name] as number] as number);
}

/** Asks for the newest state, which comes with a later call. */
export function pull(name: unknown): void {
  if (!isStale(name) || pulled[name as string] === true) return;
  call("pull", [name]);
  pulled[name as string] = true;
}

export function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) for (let i = 0; i < value.length; i++) deepFreeze(value[i]);
  else {
    const names = keys(value);
    for (let i = 0; i < names.length; i++) deepFreeze((value as Record<string, unknown>)[names[i] as string]);
  }
  return freeze(value);
}
