import { MESSAGES, PARTS } from "../generated/control-tables.ts";

/*
 * The fields of all control messages. Messages are read and written along these tables: straight code for each kind takes a third of
 * what a page loads to subscribe.
 */

/** Kinds of a field's value, or of the elements of its list. Those before `string` are scalars. */
export const KIND = {
  bool: 0,
  uint8: 1,
  uint16: 2,
  uint32: 3,
  uint64: 4,
  float32: 5,
  float64: 6,
  string: 7,
  table: 8,
} as const;

/** Bytes of a scalar, or of the offset to a text or table, by its kind. */
export const KIND_BYTES: readonly number[] = [1, 1, 2, 4, 8, 4, 8, 4, 4];
/** Value of a field that is absent, by its kind. */
const ABSENT = [false, 0, 0, 0, 0n, 0, 0, "", undefined];

// Nobody can change what is empty.
const NO_UINT8S = new Uint8Array(0);
const NO_ELEMENTS: readonly unknown[] = Object.freeze([]);

export interface ControlField {
  readonly name: string;
  readonly kind: number;
  readonly isList: boolean;
  /** The table of the value, or of the list's elements. */
  readonly table: ControlTable | undefined;
  /** Bytes from the table's position to the field. */
  readonly inline: number;
}

export interface ControlTable {
  /** The message's tag; 0 where the table is none. */
  readonly tag: number;
  readonly fields: readonly ControlField[];
  /** The vtable's words where all fields are there. */
  readonly words: readonly number[];
  /** The value of a table that has none of its fields. */
  readonly absent: Readonly<Record<string, unknown>>;
}

const parts = new Map<string, ControlTable>();
for (const line of PARTS.split(";")) parts.set(nameOf(line), tableOf(line, 0, {}));

/** Tables of the messages by their kinds, in the order of their tags, from 1 on. */
export const TABLES: ReadonlyMap<string, ControlTable> = new Map(
  MESSAGES.split(";").map((line, i) => {
    const kind = nameOf(line);
    return [kind, tableOf(line, i + 1, { kind })];
  }),
);

function nameOf(line: string): string {
  return line.split(" ", 1)[0] as string;
}

function tableOf(line: string, tag: number, absent: Record<string, unknown>): ControlTable {
  const fields = line
    .split(" ")
    .slice(1)
    .map(word => {
      const [name = "", of = ""] = word.split(":");
      const isList = of.startsWith("*");
      const inner = isList ? of.slice(1) : of;
      const kind = KIND[inner as keyof typeof KIND] ?? KIND.table;
      absent[name] = isList ? (kind === KIND.uint8 ? NO_UINT8S : NO_ELEMENTS) : ABSENT[kind];
      return { name, kind, isList, table: parts.get(inner), inline: 0 };
    });
  // The largest come first. A table lies at 4 modulo 8, and the offset of its vtable takes 4 bytes: so each field is aligned.
  let bytes = 4;
  for (const size of [8, 4, 2, 1]) {
    for (const field of fields) {
      if ((field.isList ? 4 : KIND_BYTES[field.kind]) !== size) continue;
      field.inline = bytes;
      bytes += size;
    }
  }
  const words = [4 + 2 * fields.length, bytes, ...fields.map(({ inline }) => inline)];
  return { tag, fields, words, absent };
}
