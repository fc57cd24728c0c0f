import { type Description, Type, type, typeFromSchema } from "@jecho/shared";
import { createReader, type ObjectType, type ReadEvent, readBfbs } from "@jecho/shared/internal";
import { recall, remember } from "./world/primordials.ts";

/*
 * Types are made once per sandbox, and without a wall once per process: each made type has its own class of accessors, and code that meets
 * several of them is slower for all.
 */

const inputTypes: { readonly schema: Uint8Array; readonly object: ObjectType }[] = [];
const declaredTypes = new WeakMap<object, Type>();
const readers = new WeakMap<ObjectType, ReadEvent>();
/** Most types that are kept; beyond, the oldest are forgotten. */
const MOST_INPUT_TYPES = 64;

/** Reads the type of the input, but not as a `Type`: computing its token takes a third of an installation's time. */
export function inputType(schema: Uint8Array): ObjectType {
  for (let i = 0; i < inputTypes.length; i++) {
    const known = inputTypes[i] as (typeof inputTypes)[number];
    if (isSame(known.schema, schema)) return known.object;
  }
  const object = readBfbs(schema);
  if (inputTypes.length === MOST_INPUT_TYPES) inputTypes.shift();
  inputTypes[inputTypes.length] = { schema, object };
  return object;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** @param name of the static field */
export function declaredType(said: unknown, name: string): Type {
  if (said instanceof Type) return said;
  const known = recall(declaredTypes, said as object);
  if (known !== undefined) return known;
  const made = said instanceof Uint8Array ? typeFromSchema(said) : typeFrom(said as TypeDescription, name);
  remember(declaredTypes, said as object, made);
  return made;
}

export function readerOf(object: ObjectType): ReadEvent {
  let read = recall(readers, object);
  if (read === undefined) {
    read = createReader(object);
    remember(readers, object, read);
  }
  return read;
}

interface TypeDescription {
  readonly name: string;
  readonly description: Description;
}

function typeFrom(said: TypeDescription | null, from: string): Type {
  const { name, description } = said ?? {};
  if (typeof name !== "string" || typeof description !== "object" || description === null) {
    throw new TypeError(
      `static ${from} is { name, description }, or a compiled schema, as "jecho:fbs" makes it`,
    );
  }
  return type(name, description);
}
