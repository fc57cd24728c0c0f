/**
 * The shape of plain data, as parameters and the states of shared objects are: all of it but its numbers' and texts' values. Programs are
 * compiled for a shape, and serve all data of that shape.
 */
export type DataShape =
  | { readonly is: "number" | "boolean" | "text" | "null" }
  | { readonly is: "list"; readonly items: readonly DataShape[] }
  | { readonly is: "object"; readonly fields: ReadonlyMap<string, DataShape> };

/** Lists and objects of more than so many members have a shape without them: programs for them would be many. */
const MOST_MEMBERS = 64;

export function shapeOf(value: unknown): DataShape {
  switch (typeof value) {
    case "number":
      return { is: "number" };
    case "boolean":
      return { is: "boolean" };
    case "string":
      return { is: "text" };
  }
  if (typeof value !== "object" || value === null) return { is: "null" };
  if (Array.isArray(value)) return { is: "list", items: value.slice(0, MOST_MEMBERS).map(shapeOf) };
  const entries = Object.entries(value).slice(0, MOST_MEMBERS);
  return { is: "object", fields: new Map(entries.map(([name, member]) => [name, shapeOf(member)])) };
}

/** The shape as text: two shapes are alike where their texts are. */
export function shapeText(shape: DataShape): string {
  switch (shape.is) {
    case "list":
      return `[${shape.items.map(shapeText).join()}]`;
    case "object":
      return `{${[...shape.fields].map(([name, field]) => `${JSON.stringify(name)}:${shapeText(field)}`).join()}}`;
    default:
      return shape.is[0] as string;
  }
}

/** The member of plain data that a path of names leads to. */
export function dataAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = (found as Record<string, unknown>)[name];
  return found;
}
