import { readBfbs } from "./bfbs-reader.ts";
import { writeBfbs } from "./bfbs-writer.ts";
import { type Description, describeObject, type ValueOf } from "./describe.ts";
import { encode } from "./encode.ts";
import type { ObjectType } from "./schema.ts";
import { Type } from "./type.ts";

/* What makes types and events. Programs that only read events do not load it. */

/** The type with this root table. */
export function typeOf<T = unknown>(root: ObjectType): Type<T> {
  return new Type<T>(root, writeBfbs(root));
}

/**
 * A type from a description, for example
 * `type("Reading", { sensor: "uint32", place: "string", values: "float32[]" })`.
 *
 * @throws JechoError `TYPE_INVALID` naming the field
 */
export function type<const D extends Description>(name: string, description: D): Type<ValueOf<D>> {
  return typeOf<ValueOf<D>>(describeObject(name, description));
}

/** Reads a compiled schema (.bfbs). @throws JechoError `TYPE_INVALID` */
export function typeFromSchema<T = unknown>(bfbs: Uint8Array): Type<T> {
  return typeOf<T>(readBfbs(bfbs));
}

/** The event as bytes of its own. @throws JechoError `EVENT_INVALID` naming the field */
export function encodeEvent<T>({ root }: Type<T>, event: T): Uint8Array {
  return encode(root, event);
}
