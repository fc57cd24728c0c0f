/** Writes the tables of control messages as text, which `frames/control-tables.ts` reads. */
import { writeFileSync } from "node:fs";
import { FRAME_SCHEMA } from "../src/generated/frame-schema.ts";
import { readBfbs } from "../src/types/bfbs-reader.ts";
import type { ElementKind, Field, ObjectType } from "../src/types/schema.ts";

const root = readBfbs(Uint8Array.from(Buffer.from(FRAME_SCHEMA, "base64")));
const control = root.fields.find(({ name }) => name === "control");
if (control?.kind.is !== "union") throw new Error("Frame.control is no union");
const messages = control.kind.members.map(({ tag, object }, i) => {
  if (tag !== i + 1) throw new Error("the tags have gaps");
  return object;
});
const parts = new Set<ObjectType>();
for (const message of messages) enter(message);

const lines = [
  "// Generated from schema/frame.fbs by `npm run generate`; do not edit.",
  "",
  "/** The messages by their tags, from 1 on: the name of each, and its fields with their kinds. */",
  `export const MESSAGES =\n  "${messages.map(lineOf).join(";")}";`,
  "",
  "/** The tables inside messages, each behind those that it contains. */",
  `export const PARTS =\n  "${[...parts].map(lineOf).join(";")}";`,
  "",
];
writeFileSync(new URL("../src/generated/control-tables.ts", import.meta.url), lines.join("\n"));

function enter(table: ObjectType): void {
  for (const { kind } of table.fields) {
    const inner = kind.is === "vector" ? kind.of : kind;
    if (inner.is !== "object" || parts.has(inner.object)) continue;
    enter(inner.object);
    parts.add(inner.object);
  }
}

function lineOf(table: ObjectType): string {
  if (table.isStruct) throw new Error(`a control message has no structs, as ${table.name}`);
  return [shortName(table), ...table.fields.map(wordOf)].join(" ");
}

function wordOf({ name, kind, defaultValue, required, optional, place }: Field, i: number): string {
  if (required || optional || Number(defaultValue) !== 0 || place !== i)
    throw new Error(`a control message has no field like ${name}`);
  if (kind.is === "union") throw new Error(`a union inside a control message: ${name}`);
  return `${name}:${kind.is === "vector" ? `*${kindOf(kind.of)}` : kindOf(kind)}`;
}

function kindOf(kind: ElementKind): string {
  if (kind.is === "string") return "string";
  return kind.is === "object" ? shortName(kind.object) : kind.scalar;
}

function shortName({ name }: ObjectType): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
