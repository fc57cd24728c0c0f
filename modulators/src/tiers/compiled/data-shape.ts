/**
 * The shape of plain data, as parameters and the states of shared objects are: all of it but its numbers' and texts' values. Programs are
 * compiled for a shape, and serve all data of that shape. A text's shape is about how long it is, for that is what it costs to compare it.
 */
export type DataShape =
  | { readonly is: "number" | "boolean" | "null" }
  /** A text of up to so many bytes; 0 for one that cannot be compared byte by byte. */
  | { readonly is: "text"; readonly cap: number }
  | { readonly is: "list"; readonly items: readonly DataShape[] }
  | { readonly is: "object"; readonly fields: ReadonlyMap<string, DataShape> };

/** Lists and objects of more than so many members have a shape without them: programs for them would be many. */
export const MOST_MEMBERS = 64;

/** Most bytes of a text that programs compare others with. */
export const MOST_TEXT_BYTES = 256;

const utf8 = new TextEncoder();

/** The bytes that stand for this text and no others; undefined where others read the same, and for longer ones than are compared. */
export function bytesOfText(text: string): Uint8Array | undefined {
  if (text.length > MOST_TEXT_BYTES || !text.isWellFormed() || text.includes("\ufffd")) return undefined;
  const bytes = utf8.encode(text);
  return bytes.byteLength <= MOST_TEXT_BYTES ? bytes : undefined;
}

const TEXT_CAPS = [16, 64, MOST_TEXT_BYTES];

export function shapeOf(value: unknown): DataShape {
  switch (typeof value) {
    case "number":
      return { is: "number" };
    case "boolean":
      return { is: "boolean" };
    case "string":
      return { is: "text", cap: capOf(value) };
  }
  if (typeof value !== "object" || value === null) return { is: "null" };
  if (Array.isArray(value)) return { is: "list", items: value.slice(0, MOST_MEMBERS).map(shapeOf) };
  const entries = Object.entries(value).slice(0, MOST_MEMBERS);
  return { is: "object", fields: new Map(entries.map(([name, member]) => [name, shapeOf(member)])) };
}

function capOf(text: string): number {
  const bytes = bytesOfText(text)?.byteLength;
  return bytes === undefined ? 0 : (TEXT_CAPS.find(cap => bytes <= cap) as number);
}

/** The shape as text: two shapes are alike where their texts are. */
export function shapeText(shape: DataShape): string {
  switch (shape.is) {
    case "list":
      return `[${shape.items.map(shapeText).join()}]`;
    case "object":
      return `{${[...shape.fields].map(([name, field]) => `${JSON.stringify(name)}:${shapeText(field)}`).join()}}`;
    case "text":
      return `t${shape.cap}`;
    default:
      return shape.is === "null" ? "0" : (shape.is[0] as string);
  }
}
