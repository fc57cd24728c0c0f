/**
 * Things by their numbers: none, one, or a map of many. A gateway has many thousands of connections with one consumer each
 * and no producer, so neither none nor one takes memory of its own.
 */
export type Numbered<T extends Thing> = T | Map<number, T> | undefined;

interface Thing {
  readonly number: number;
}

export function find<T extends Thing>(things: Numbered<T>, number: number): T | undefined {
  if (things instanceof Map) return things.get(number);
  return things?.number === number ? things : undefined;
}

/** @returns what to keep instead */
export function withThing<T extends Thing>(things: Numbered<T>, thing: T): Numbered<T> {
  if (things === undefined) return thing;
  if (things instanceof Map) return things.set(thing.number, thing);
  return new Map([
    [things.number, things],
    [thing.number, thing],
  ]);
}

/** @returns what to keep instead */
export function without<T extends Thing>(things: Numbered<T>, number: number): Numbered<T> {
  if (things instanceof Map) things.delete(number);
  else if (things?.number === number) return undefined;
  return things;
}

export function count(things: Numbered<Thing>): number {
  return things instanceof Map ? things.size : things === undefined ? 0 : 1;
}

export function each<T extends Thing>(things: Numbered<T>): Iterable<T> {
  if (things instanceof Map) return things.values();
  return things === undefined ? [] : [things];
}
