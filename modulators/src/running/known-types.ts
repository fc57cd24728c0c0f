import { type Type, typeFromSchema } from "@jecho/shared";
import { tokenOf } from "@jecho/shared/internal";
import { keepNewest } from "./newest-entries.ts";

const types = new Map<bigint, Type>();
const MOST_TYPES = 256;

/** The type with this schema. Types are read once for all modulators: each takes time and memory. @throws JechoError `TYPE_INVALID` */
export function typeOf(schema: Uint8Array): Type {
  const token = tokenOf(schema);
  let type = types.get(token);
  if (type === undefined) {
    type = typeFromSchema(schema);
    keepNewest(types, token, type, MOST_TYPES);
  }
  return type;
}

/** The type with this token; undefined for bytes, and where nobody knows its schema. @throws as `typeOf` */
export function typeWith(
  token: bigint,
  schemaOf: (token: bigint) => Uint8Array | undefined,
): Type | undefined {
  const known = types.get(token);
  if (known !== undefined || token === 0n) return known;
  const schema = schemaOf(token);
  return schema && typeOf(schema);
}
