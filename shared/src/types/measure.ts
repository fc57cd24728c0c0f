import { OP, type Plan, type PlannedField, planOf } from "./encode-plan.ts";
import type { ObjectType } from "./schema.ts";
import { utf8Bound } from "./utf8.ts";
import { invalid, listOf, memberOf } from "./written-values.ts";

/** An upper bound of the bytes that `encodeInto` takes for this value. @throws JechoError `EVENT_INVALID` */
export function measure(type: ObjectType, value: unknown): number {
  return 8 + measureTable(planOf(type), value, type.name);
}

function measureTable(plan: Plan, value: unknown, path: string): number {
  if (typeof value !== "object" || value === null) throw invalid(path, "an object", value);
  const { fields } = plan;
  let size = plan.vtableBytes + plan.bytes + 16;
  if (plan.isFlat) return size;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as PlannedField;
    if (field.op <= OP.bool) continue;
    const inner = (value as Record<string, unknown>)[field.name];
    if (inner !== undefined && inner !== null) size += measureField(field, inner);
  }
  return size;
}

function measureField(field: PlannedField, value: unknown): number {
  switch (field.op) {
    case OP.string:
      if (typeof value !== "string") throw invalid(field.path, "a string", value);
      return 16 + utf8Bound(value);
    case OP.table:
      return measureTable(field.plan as Plan, value, field.path);
    case OP.union:
      return measureTable(memberOf(field, value).plan, value, field.path);
    case OP.vector:
      return measureVector(field.element as PlannedField, listOf(value, field.path));
    default:
      return 0;
  }
}

function measureVector(element: PlannedField, list: ArrayLike<unknown>): number {
  const { op, plan, size } = element;
  const bytes = 24 + list.length * size;
  // Rows take the same room each; what is in them is looked at once, when they are written.
  if (op === OP.table && plan?.isFlat) return bytes + plan.vtableBytes + list.length * plan.stride;
  if (op !== OP.string && op !== OP.table) return bytes;
  let inner = 0;
  for (let i = 0; i < list.length; i++) inner += measureField(element, list[i]);
  return bytes + inner;
}
