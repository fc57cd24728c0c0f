import { encodeEvent, type FieldInfo, JechoError, type Type, unpack } from "@jecho/shared";

/**
 * Events of a channel without a type, which are opaque bytes, as `jecho sub --json` recorded them, one in a line.
 *
 * @throws JechoError `EVENT_INVALID` where a line has no event, naming the line
 */
export function recordedEvents(text: string): Uint8Array[];
/** The same of a channel with a type. JSON has no 64-bit integers and no NaN; what stands in their place is read as what it was. */
export function recordedEvents<T>(text: string, type: Type<T>): T[];
export function recordedEvents(text: string, type?: Type<unknown>): unknown[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    try {
      const { event } = JSON.parse(line) as { event: unknown };
      if (type === undefined) return [Uint8Array.from(event as number[])];
      // Whatever the numbers came as, they are of the type's arrays now.
      return [unpack(type.decode(encodeEvent(type, tableOf(type.fields, event))))];
    } catch (error) {
      throw new JechoError("EVENT_INVALID", `line ${i + 1}: ${(error as Error).message}`, { cause: error });
    }
  });
}

function tableOf(fields: readonly FieldInfo[], value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = new Map(fields.map(field => [field.name, field]));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const field = known.get(name);
      if (field === undefined) return [name, inner];
      const isList = field.isVector && Array.isArray(inner);
      return [name, isList ? inner.map(one => elementOf(field, one)) : elementOf(field, inner)];
    }),
  );
}

function elementOf({ kind, fields, members }: FieldInfo, value: unknown): unknown {
  switch (kind) {
    case "int64":
    case "uint64":
      return typeof value === "number" || typeof value === "string" ? BigInt(value) : value;
    case "float32":
    case "float64":
      return value === null ? Number.NaN : value;
    case "table":
    case "struct":
      return tableOf(fields, value);
    case "union":
      return tableOf(members.get((value as { kind?: string } | null)?.kind ?? "") ?? [], value);
    default:
      return value;
  }
}
