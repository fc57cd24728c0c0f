import { PLACES } from "../generated/property-places.ts";
import type { Plan, PlannedField, PropertyGetter } from "./encode-plan.ts";
import { invalid, writeScalar } from "./written-values.ts";

/*
 * Tables and structs of numbers alone, many of them: rows of one layout. They are written column by column, each by a getter
 * that the engine knows the one property of: where one piece of code looks up whatever name is asked for, that takes longer than
 * all the rest.
 */

type Row = Parameters<PropertyGetter>[0];

/** Index of the place that the next getter comes from; later getters share places once all are taken. */
let next = 0;

/**
 * Writes `list` as rows that lie `stride` bytes from each other, the first one at `start`.
 *
 * @throws JechoError `EVENT_INVALID`
 */
export function writeRows(
  view: DataView,
  plan: Plan,
  list: ArrayLike<unknown>,
  start: number,
  stride: number,
  path: string,
): void {
  const { length } = list;
  for (let i = 0; i < length; i++) {
    const row = list[i];
    if (typeof row !== "object" || row === null) throw invalid(path, "an object", row);
  }
  const { fields, holes } = plan;
  plan.getters ??= fields.map(({ name }) => getterOf(name));
  for (let i = 0; i < holes.length; i++) {
    let at = start + (holes[i] as number);
    for (let k = 0; k < length; k++, at += stride) view.setUint8(at, 0);
  }
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as PlannedField;
    const { defaultValue, inline } = field;
    const get = plan.getters[i] as PropertyGetter;
    let at = start + inline;
    // Not as long as the list is now: a getter that changes it must not have more written than there is room for.
    for (let k = 0; k < length; k++, at += stride)
      writeScalar(view, at, field, get(list[k] as Row) ?? defaultValue);
  }
}

function getterOf(name: string): PropertyGetter {
  const place = PLACES[next++ % PLACES.length] as (name: string) => PropertyGetter;
  return place(name);
}
