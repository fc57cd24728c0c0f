/** Types from and to text in FlatBuffers' schema language. A face of its own, because most programs need no parser for it. */
import { writeBfbs } from "./types/bfbs-writer.ts";
import { readFbs } from "./types/fbs/fbs-reader.ts";
import { writeFbs } from "./types/fbs/fbs-writer.ts";
import { typeOf } from "./types/making.ts";
import type { Type } from "./types/type.ts";

/**
 * Makes a type of the text of a FlatBuffers schema; no compiler is needed.
 *
 * @param root the table that events are, where the text does not say it by `root_type`
 * @throws JechoError `TYPE_INVALID` with line and column
 */
export function typeFromFbs<T = unknown>(text: string, root?: string): Type<T> {
  return typeOf<T>(readFbs(text, root));
}

/**
 * Compiles the text of a FlatBuffers schema to the binary form that `typeFromSchema` reads.
 *
 * @param root the table that events are, where the text does not say it by `root_type`
 * @throws JechoError `TYPE_INVALID` with line and column
 */
export function schemaFromFbs(text: string, root?: string): Uint8Array {
  return writeBfbs(readFbs(text, root));
}

/** The type as text in FlatBuffers' schema language. */
export function fbsOf(type: Type): string {
  return writeFbs(type.root);
}
