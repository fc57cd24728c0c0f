import { kindText } from "../reflect.ts";
import {
  type ElementKind,
  type EnumType,
  elementAlign,
  type Field,
  type Kind,
  type ObjectType,
  type Scalar,
  walkObjects,
} from "../schema.ts";

/** The type as text in FlatBuffers' schema language: what can be reached from `root`, readable and compilable. */
export function writeFbs(root: ObjectType): string {
  const blocks = new Map<string, { namespace: string; text: string }>();
  const add = (name: string, text: string): void => {
    if (!blocks.has(name)) blocks.set(name, { namespace: namespaceOf(name), text });
  };
  const tables: ObjectType[] = [];
  const flags = combinedNames(root);
  const addKind = (kind: Kind): void => {
    if (kind.is === "vector") addKind(kind.of);
    else if (kind.is === "scalar" && kind.names !== undefined)
      add(kind.names.name, enumText(kind.names, flags.has(kind.names.name)));
    else if (kind.is === "object" && kind.object.isStruct) addStruct(kind.object);
  };
  const addStruct = (object: ObjectType): void => {
    for (const { kind } of object.fields) addKind(kind);
    add(object.name, structText(object));
  };
  // What others are made of comes first, as the compiler wants it: enums and structs, unions, tables.
  walkObjects(root, object => {
    if (object.isStruct) addStruct(object);
    else {
      tables.push(object);
      for (const { kind } of object.fields) addKind(kind);
    }
  });
  for (const { fields } of tables)
    for (const { kind } of fields) if (kind.is === "union") add(kind.name, unionText(kind));
  for (const object of tables.reverse()) add(object.name, tableText(object));
  const lines: string[] = [];
  let present = "";
  for (const { namespace, text } of blocks.values()) {
    if (namespace !== present) lines.push(namespace === "" ? "namespace;" : `namespace ${namespace};`, "");
    present = namespace;
    lines.push(text, "");
  }
  lines.push(`root_type ${root.name};`, "");
  return lines.join("\n");
}

function namespaceOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Enums that some default combines, or has none of: those are flags, and the compiler wants to be told. */
function combinedNames(root: ObjectType): Set<string> {
  const combined = new Set<string>();
  walkObjects(root, ({ fields, isStruct }) => {
    for (const { kind, defaultValue, optional } of fields) {
      if (isStruct || optional || kind.is !== "scalar" || kind.names === undefined) continue;
      if (!kind.names.values.some(({ value }) => value === BigInt(defaultValue)))
        combined.add(kind.names.name);
    }
  });
  return combined;
}

function enumText({ name, scalar, values }: EnumType, isFlags: boolean): string {
  // The values of flags are written as the number of their bit.
  const list = values.map(({ name, value }) => `${name} = ${isFlags ? value.toString(2).length - 1 : value}`);
  return `enum ${shortName(name)} : ${scalar}${isFlags ? " (bit_flags)" : ""} { ${list.join(", ")} }`;
}

function unionText({ name, members }: Extract<Kind, { is: "union" }>): string {
  let next = 1;
  const list = members.map(({ tag, name, object }) => {
    const number = tag === next ? "" : ` = ${tag}`;
    next = tag + 1;
    return `${name}: ${object.name}${number}`;
  });
  return `union ${shortName(name)} { ${list.join(", ")} }`;
}

function structText({ name, fields, align }: ObjectType): string {
  const natural = Math.max(1, ...fields.map(({ kind }) => elementAlign(kind as ElementKind)));
  const forced = align > natural ? ` (force_align: ${align})` : "";
  return `struct ${shortName(name)}${forced} {\n${fields.map(fieldText).join("\n")}\n}`;
}

function tableText({ name, fields }: ObjectType): string {
  const lines: string[] = [];
  let slot = 0;
  for (const field of fields) {
    // A slot without a field is one that a deprecated field had: without it the later ones would move.
    const first = field.kind.is === "union" ? field.place - 1 : field.place;
    for (; slot < first; slot++) lines.push(`  ${freeName(fields, slot)}: bool (deprecated);`);
    slot = field.place + 1;
    lines.push(fieldText(field));
  }
  return lines.length === 0
    ? `table ${shortName(name)} {}`
    : `table ${shortName(name)} {\n${lines.join("\n")}\n}`;
}

function freeName(fields: readonly Field[], slot: number): string {
  let name = `unused_${slot}`;
  while (fields.some(field => field.name === name)) name += "_";
  return name;
}

function fieldText({ name, kind, defaultValue, required, optional }: Field): string {
  let text = `  ${name}: ${kindText(kind)}`;
  if (kind.is === "scalar") {
    if (optional) text += " = null";
    else if (Number(defaultValue) !== 0 || Object.is(defaultValue, -0))
      text += ` = ${numberText(defaultValue, kind.scalar)}`;
  }
  return `${text}${required ? " (required)" : ""};`;
}

function numberText(value: number | bigint, scalar: Scalar): string {
  if (scalar === "bool") return value === 0 ? "false" : "true";
  if (Number.isNaN(value)) return "nan";
  if (value === Infinity) return "inf";
  if (value === -Infinity) return "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}
