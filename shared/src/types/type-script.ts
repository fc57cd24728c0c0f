import { type ElementKind, type Kind, type ObjectType, walkObjects } from "./schema.ts";
import type { Type } from "./type.ts";
import { ARRAYS } from "./typed-arrays.ts";

/**
 * The events of a type as TypeScript: one exported interface for each of its tables and structs, the event's first. For
 * modulators and consumers that are written against a channel whose type was found at run time.
 */
export function typeScriptOf(type: Type): string {
  const names = new Map<ObjectType, string>();
  walkObjects(type.root, object => names.set(object, nameFor(object, names)));
  const texts = [...names].map(([object, name]) => {
    const fields = object.fields.map(
      field =>
        `  readonly ${field.name}: ${textOf(field.kind, names)}${field.optional ? " | undefined" : ""};`,
    );
    return `/** ${object.name}${object.isStruct ? ", a struct" : ""} */\nexport interface ${name} {\n${fields.join("\n")}\n}\n`;
  });
  return texts.join("\n");
}

/** The last part of its name, made different where two would be the same. */
function nameFor({ name }: ObjectType, taken: ReadonlyMap<ObjectType, string>): string {
  const short = name.slice(name.lastIndexOf(".") + 1).replaceAll(/\W/g, "_");
  const known = new Set(taken.values());
  let candidate = short;
  for (let n = 2; known.has(candidate); n++) candidate = `${short}${n}`;
  return candidate;
}

function textOf(kind: Kind, names: ReadonlyMap<ObjectType, string>): string {
  switch (kind.is) {
    case "scalar":
    case "string":
      return elementText(kind, names);
    case "object":
      return `${elementText(kind, names)} | undefined`;
    case "vector":
      return kind.of.is === "scalar"
        ? ARRAYS[kind.of.scalar].name
        : `readonly ${elementText(kind.of, names)}[]`;
    case "union":
      return `${kind.members.map(({ name, object }) => `({ readonly kind: "${name}" } & ${names.get(object)})`).join(" | ")} | undefined`;
  }
}

function elementText(kind: ElementKind, names: ReadonlyMap<ObjectType, string>): string {
  if (kind.is === "string") return "string";
  if (kind.is === "object") return names.get(kind.object) as string;
  if (kind.scalar === "bool") return "boolean";
  return kind.scalar === "int64" || kind.scalar === "uint64" ? "bigint" : "number";
}
