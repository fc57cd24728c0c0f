/** Bytes that events lie in, and the view that they are read through. Both begin at the same byte. */
export interface ByteSource {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  /** Memory of the bytes: to ask `bytes` for it takes as long as to read some fields. */
  readonly buffer: ArrayBufferLike;
  readonly offset: number;
}

export function sourceOf(view: DataView, bytes: Uint8Array): ByteSource {
  return { view, bytes, buffer: bytes.buffer, offset: bytes.byteOffset };
}

/**
 * An event, or a table or struct in it, over the bytes that it came in. Its fields are getters by name.
 *
 * What it has of its own bears names that no field can have. They are written out wherever they are used: a property
 * whose name is looked up, a symbol's too, takes the engine several times as long.
 */
export interface Accessor {
  readonly "@source": ByteSource;
  readonly "@at": number;
}

/** Reads a field of the accessor that it is called on. */
export type FieldGetter = (this: Accessor) => unknown;

/** Reads a value whose inline part lies at `at`. */
export type Read = (source: ByteSource, at: number) => unknown;

/** Position of the field with this entry of the vtable; 0 where the field is absent. */
export function slotOf(accessor: Accessor, entry: number): number {
  const { view } = accessor["@source"];
  const position = accessor["@at"];
  const vtable = position - view.getInt32(position, true);
  if (entry >= view.getUint16(vtable, true)) return 0;
  const inline = view.getUint16(vtable + entry, true);
  return inline === 0 ? 0 : position + inline;
}

const IS_ACCESSOR = Symbol("isAccessor");
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * The prototype's part of an accessor that is no field. Not of the object itself: a copy by `{ ...event }` is not an event
 * any more.
 */
export function markAccessor(prototype: object): void {
  const plain = {
    value(this: object) {
      return unpack(this);
    },
    configurable: true,
  };
  Object.defineProperties(prototype, {
    // An own name on the prototype would hide a field of that name from Object.keys.
    constructor: { enumerable: false },
    [IS_ACCESSOR]: { value: true },
    [INSPECT]: plain,
    toJSON: plain,
  });
}

function isAccessor(value: object): value is Accessor {
  return IS_ACCESSOR in value;
}

/** Copies an event's values into a plain object; typed arrays are still views on the event's bytes. */
export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== "object" || value === null || !isAccessor(value)) return value;
  const plain: Record<string, unknown> = {};
  for (const name of Object.keys(Object.getPrototypeOf(value) as object)) {
    plain[name] = unpack((value as unknown as Record<string, unknown>)[name]);
  }
  return plain;
}

/** Bytes and position of an event that came in; undefined for any other value. */
export function accessorBytes(value: object): { bytes: Uint8Array; position: number } | undefined {
  return isAccessor(value) ? { bytes: value["@source"].bytes, position: value["@at"] } : undefined;
}
