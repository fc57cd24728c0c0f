import type { ObjectName } from "./objects.ts";

/*
 * Work of a handler on an event: it reads everything. Each serialiser gets this module anew (by a query of its own behind
 * the name), for a program that reads events reads those of one serialiser, and the engine learns their one shape.
 */

let sum = 0;

/** Reads everything that is in an event: an accessor that nobody asks costs nothing. */
function touch(value: unknown): void {
  if (typeof value === "number") sum += value;
  else if (typeof value === "string") sum += value.length;
  else if (ArrayBuffer.isView(value) || Array.isArray(value)) {
    const list = value as ArrayLike<unknown>;
    if (typeof list[0] === "object") for (let i = 0; i < list.length; i++) touch(list[i]);
    else sum += list.length + ((list[0] as number | undefined) ?? 0);
  }
}

/** Each field by its name, as a handler would. */
export function touchFields(value: unknown, object: ObjectName): number {
  const event = value as Record<string, unknown>;
  if (object === "int100") touch(event["values"]);
  else if (object === "byte400") touch(event["bytes"]);
  else if (object === "vector20")
    for (const { value } of event["elements"] as { value: number }[]) sum += value;
  else if (object === "composite") {
    touch(event["name"]);
    touch(event["counts"]);
    touch(event["levels"]);
    for (const { key, value } of event["table"] as { key: string; value: string }[])
      sum += key.length + value.length;
  }
  return sum;
}
