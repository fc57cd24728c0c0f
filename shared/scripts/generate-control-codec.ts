/**
 * Writes the code that reads and writes control messages, a function for each table: see `frames/control-source.ts` and
 * `control-target.ts`, whose steps it calls.
 */
import { writeFileSync } from "node:fs";
import { FRAME_SCHEMA } from "../src/generated/frame-schema.ts";
import { readBfbs } from "../src/types/bfbs-reader.ts";
import { planOf } from "../src/types/encode-plan.ts";
import type { ElementKind, Field, ObjectType } from "../src/types/schema.ts";

const root = readBfbs(Uint8Array.from(Buffer.from(FRAME_SCHEMA, "base64")));
const control = root.fields.find(({ name }) => name === "control");
if (control?.kind.is !== "union") throw new Error("Frame.control is no union");
const { members } = control.kind;

/** The scalars that the two classes have steps for. */
const SCALARS = new Set(["bool", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]);
const NUMBERS = new Set(["uint8", "uint32", "uint64"]);

/** All tables, each behind those that it contains, and whether it is a message. */
const tables = new Map<ObjectType, boolean>();
for (const { object } of members) enter(object, true);

const names = [...tables.keys()].map(shortName).sort();
const lines = [
  "// Generated from schema/frame.fbs by `npm run generate`; do not edit.",
  'import type { ControlSource } from "../frames/control-source.ts";',
  'import type { ControlTarget } from "../frames/control-target.ts";',
  `import type { ${["Control", ...names].join(", ")} } from "./frame-schema.ts";`,
];
for (const [table, isMessage] of tables)
  lines.push("", ...readerOf(table, isMessage), "", ...writerOf(table));
lines.push(
  "",
  "/** Reads the message of each tag. */",
  "export const READERS: readonly (((from: ControlSource, at: number) => Control) | undefined)[] = [",
  "  undefined,",
  ...members.map(({ tag, name }, i) => {
    if (tag !== i + 1) throw new Error("the tags have gaps");
    return `  read${name},`;
  }),
  "];",
  "",
  "/** Writes the messages of one kind, which has this tag. */",
  "export interface Writer {",
  "  readonly tag: number;",
  "  readonly write: (to: ControlTarget, from: object) => number;",
  "}",
  "",
  "/** By the messages' kinds. */",
  "export const WRITERS: ReadonlyMap<string, Writer> = new Map([",
  ...members.map(({ tag, name }) => `  ["${name}", { tag: ${tag}, write: write${name} }],`),
  "]);",
  "",
);
writeFileSync(new URL("../src/generated/control-codec.ts", import.meta.url), lines.join("\n"));

function enter(table: ObjectType, isMessage: boolean): void {
  if (table.isStruct) throw new Error(`a control message has no structs, as ${table.name}`);
  for (const { kind } of table.fields) {
    const inner = kind.is === "vector" ? kind.of : kind;
    if (inner.is === "object" && !tables.has(inner.object)) enter(inner.object, false);
  }
  tables.set(table, isMessage);
}

function readerOf(table: ObjectType, isMessage: boolean): string[] {
  const name = shortName(table);
  const fields = table.fields.map(field => {
    const { step, inner } = stepOf(field);
    const rest = inner === undefined ? "" : `, read${inner}`;
    return `    ${field.name}: from.${step}(at, fields, ${4 + 2 * field.place}${rest}),`;
  });
  return [
    `function read${name}(from: ControlSource, at: number): ${name} {`,
    "  const fields = from.table(at);",
    "  return {",
    ...(isMessage ? [`    kind: "${name}",`] : []),
    ...fields,
    "  };",
    "}",
  ];
}

function writerOf(table: ObjectType): string[] {
  const name = shortName(table);
  const { vtable, vtableBytes, fields } = planOf(table);
  const writes = table.fields.map((field, i) => {
    const { step, inner } = stepOf(field);
    const { inline = 0, entry = 0 } = fields[i] ?? {};
    const places = SCALARS.has(step) ? `at + ${inline}` : `at + ${inline}, at - ${vtableBytes - entry}`;
    const rest = inner === undefined ? "" : `, write${inner}`;
    return `  to.${step}(${places}, from.${field.name}${rest}, "${field.name}");`;
  });
  return [
    `const ${constantOf(name)} = [${[...vtable].join(", ")}];`,
    `function write${name}(to: ControlTarget, from: Partial<${name}>): number {`,
    `  const at = to.table(${constantOf(name)});`,
    ...writes,
    "  return at;",
    "}",
  ];
}

/** The step for a field, and the table that it takes. */
function stepOf({ name, kind, defaultValue, required, optional }: Field): { step: string; inner?: string } {
  if (required || optional || Number(defaultValue) !== 0)
    throw new Error(`a control message has no field like ${name}`);
  if (kind.is === "union") throw new Error(`a union inside a control message: ${name}`);
  if (kind.is !== "vector") return elementOf(kind, name);
  const { step, inner } = elementOf(kind.of, name);
  if (kind.of.is === "scalar" && !NUMBERS.has(step)) throw new Error(`no step reads a list of ${step}`);
  return { step: `${step}s`, ...(inner !== undefined && { inner }) };
}

function elementOf(kind: ElementKind, name: string): { step: string; inner?: string } {
  if (kind.is === "string") return { step: "string" };
  if (kind.is === "object") return { step: "object", inner: shortName(kind.object) };
  if (!SCALARS.has(kind.scalar)) throw new Error(`no step reads ${kind.scalar}, as ${name} is`);
  return { step: kind.scalar };
}

function shortName({ name }: ObjectType): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function constantOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
