// Symbols, so that fields can have any name.
export const VIEW: unique symbol = Symbol("view");
export const BYTES: unique symbol = Symbol("bytes");
export const POSITION: unique symbol = Symbol("position");

/** An event, or a table or struct in it, over the bytes that it came in. Its fields are getters by name. */
export interface Accessor {
  readonly [VIEW]: DataView;
  readonly [BYTES]: Uint8Array;
  readonly [POSITION]: number;
}

/** The same values as a plain object; typed arrays are still views on the event's bytes. */
export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== "object" || value === null || !(VIEW in value)) return value;
  const plain: Record<string, unknown> = {};
  for (const name of Object.keys(Object.getPrototypeOf(value) as object)) {
    plain[name] = unpack((value as Record<string, unknown>)[name]);
  }
  return plain;
}

/** Is this an event as it came in, and where do its bytes lie? */
export function accessorBytes(value: object): { bytes: Uint8Array; position: number } | undefined {
  if (!(VIEW in value)) return undefined;
  const accessor = value as Accessor;
  return { bytes: accessor[BYTES], position: accessor[POSITION] };
}
