/*
 * The language's functions as they were before the modulator's code ran. Code that touches the memory shared with the host calls no
 * others, so that a prototype which the modulator patched sees only its own data.
 */
const { apply, getPrototypeOf } = Reflect;
const { freeze, keys, hasOwn } = Object;
const { parse } = JSON;
const isArray = Array.isArray;
const Bytes = Uint8Array;
const Words = Uint32Array;
const View = DataView;
const ErrorText = String.prototype.slice;
const holds = String.prototype.includes;
const promisePrototype = Promise.prototype;
const objectPrototype = Object.prototype;
/** Prototypes of the errors that engines throw where there is no memory. */
const { InternalError } = globalThis as { InternalError?: ErrorConstructor };
const memoryPrototypes = [RangeError.prototype, InternalError?.prototype];
const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype) as object;
const { set } = typedArrayPrototype as Uint8Array;
const tag = Object.getOwnPropertyDescriptor(typedArrayPrototype, Symbol.toStringTag)?.get as () => unknown;
const { get: weakGet, set: weakSet } = WeakMap.prototype;

export {
  Bytes,
  freeze,
  getPrototypeOf,
  hasOwn,
  isArray,
  keys,
  memoryPrototypes,
  objectPrototype,
  parse,
  promisePrototype,
  View,
  Words,
};

export function setBytes(target: Uint8Array, source: Uint8Array, at: number): void {
  apply(set, target, [source, at]);
}

export function isBytes(value: unknown): value is Uint8Array {
  return typeof value === "object" && value !== null && apply(tag, value, []) === "Uint8Array";
}

export function recall<K extends object, V>(map: WeakMap<K, V>, key: K): V | undefined {
  return apply(weakGet, map, [key]) as V | undefined;
}

export function remember<K extends object, V>(map: WeakMap<K, V>, key: K, value: V): void {
  apply(weakSet, map, [key, value]);
}

export function includes(text: string, part: string): boolean {
  return apply(holds, text, [part]) as boolean;
}

export function clip(text: string, characters: number): string {
  return apply(ErrorText, text, [0, characters]) as string;
}
