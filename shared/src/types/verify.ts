import { JechoError } from "../errors.ts";
import { matchFields } from "./matching.ts";
import {
  type ElementKind,
  elementAlign,
  elementBytes,
  type Field,
  type Kind,
  type ObjectType,
} from "./schema.ts";

/*
 * FlatBuffers for JavaScript trusts its input: offsets are signed there and bytes out of range read as 0. This walks a
 * buffer along its schema first: unsigned bounds, alignment, depth, and a budget against tables that share their parts.
 * What is to be checked is planned once for a pair of a writer's and a reader's type: what the reader can reach.
 */

const MAX_DEPTH = 16;

/** Up to `struct` a field lies in its table; up to `string` it points at something that points at nothing else. */
const OP = { scalar: 0, struct: 1, vector: 2, string: 3, offsets: 4, table: 5, union: 6 } as const;

/** One field to check. Numbers and small objects only, of one shape, for this runs for every event. */
interface Check {
  /** Index among the names of all fields that are checked. */
  readonly name: number;
  readonly op: number;
  /** The field's entry in the vtable. */
  readonly entry: number;
  readonly required: boolean;
  /** Bytes of the field in its table. */
  readonly bytes: number;
  /** The alignment of the field, or of a vector's elements, less one. */
  readonly alignMask: number;
  /** Bytes of an element of what it points at. */
  readonly elementBytes: number;
  /** Bytes behind the elements: a string has a zero there. */
  readonly behindBytes: number;
  /** The plans of the table or tables, by their tag in a union; strings in a vector have none. */
  plan: VerifyPlan | undefined;
  readonly members: Map<number, VerifyPlan | undefined> | undefined;
}

/** A table to check. */
interface VerifyPlan {
  readonly checks: Check[];
  /** Whether nothing in the table points at anything else. */
  isFlat: boolean;
  /** The largest alignment of its fields, less one. */
  alignMask: number;
}

/**
 * Checks that the bytes [start, end), which lie in the view, are an event that can be read without harm.
 *
 * @returns where its root table lies
 * @throws JechoError `EVENT_INVALID`
 */
export type VerifyEvent = (view: DataView, start: number, end: number) => number;

/**
 * Makes the function that checks events of the writer's type before the reader's accessors read them. `start` is a multiple
 * of 8 of the view, from whose start alignment is counted; errors name the field and what is wrong.
 *
 * @throws JechoError `TYPE_MISMATCH`
 */
export function createVerifier(writer: ObjectType, reader: ObjectType = writer): VerifyEvent {
  const names: string[] = [];
  const plan = planOf(writer, reader, { plans: new Map(), names });
  const walk = new Walk(writer.name, names);
  return (view, start, end) => walk.root(plan, view, start, end);
}

const verifiers = new WeakMap<ObjectType, VerifyEvent>();

/** Checks that the bytes [start, end) are a FlatBuffer of this type. @throws JechoError `EVENT_INVALID` */
export function verify(type: ObjectType, view: DataView, start: number, end: number): void {
  let verifier = verifiers.get(type);
  if (verifier === undefined) {
    verifier = createVerifier(type);
    verifiers.set(type, verifier);
  }
  verifier(view, start, end);
}

interface MadeVerifier {
  readonly plans: Map<ObjectType, Map<ObjectType, VerifyPlan>>;
  readonly names: string[];
}

function planOf(writer: ObjectType, reader: ObjectType, made: MadeVerifier): VerifyPlan {
  const known = made.plans.get(writer) ?? new Map<ObjectType, VerifyPlan>();
  made.plans.set(writer, known);
  let plan = known.get(reader);
  if (plan === undefined) {
    plan = { checks: [], isFlat: true, alignMask: 3 };
    known.set(reader, plan);
    for (const { field, source } of matchFields(writer, reader)) {
      if (source === undefined) continue;
      const check = checkOf(source, field, made);
      plan.checks.push(check);
      plan.isFlat &&= check.op <= OP.struct;
      plan.alignMask |= check.alignMask;
    }
  }
  return plan;
}

function checkOf(source: Field, field: Field, made: MadeVerifier): Check {
  const { kind } = source;
  const isInline = kind.is === "scalar" || (kind.is === "object" && kind.object.isStruct);
  const element = kind.is === "vector" ? kind.of : undefined;
  const check: Check = {
    name: made.names.push(source.name) - 1,
    op: opOf(kind),
    entry: 4 + 2 * source.place,
    required: source.required || field.required,
    bytes: isInline ? elementBytes(kind) : 4,
    // Memory is aligned to 8 and no read needs more, whatever a struct was forced to.
    alignMask: Math.min(8, element ? elementAlign(element) : isInline ? elementAlign(kind) : 4) - 1,
    elementBytes: element ? elementBytes(element) : 1,
    behindBytes: kind.is === "string" ? 1 : 0,
    plan: undefined,
    members: kind.is === "union" ? new Map() : undefined,
  };
  const inner = kind.is === "vector" ? kind.of : kind;
  const read = field.kind.is === "vector" ? field.kind.of : field.kind;
  if (inner.is === "object" && !inner.object.isStruct && read.is === "object")
    check.plan = planOf(inner.object, read.object, made);
  if (kind.is === "union" && field.kind.is === "union") {
    for (const { tag, name, object } of kind.members) {
      const member = kind === field.kind ? object : field.kind.members.find(one => one.name === name)?.object;
      check.members?.set(tag, member && planOf(object, member, made));
    }
  }
  return check;
}

function opOf(kind: Kind): number {
  if (kind.is === "scalar" || kind.is === "string" || kind.is === "union") return OP[kind.is];
  if (kind.is === "object") return kind.object.isStruct ? OP.struct : OP.table;
  return hasOffsets(kind.of) ? OP.offsets : OP.vector;
}

function hasOffsets(kind: ElementKind): boolean {
  return kind.is === "string" || (kind.is === "object" && !kind.object.isStruct);
}

/**
 * One way through a buffer. It is used again and again, so that nothing is made for an event that is sound, and what it keeps
 * is numbers: while an engine looks for garbage, each reference that is stored in something old costs more than the check.
 */
class Walk {
  readonly #type: string;
  readonly #names: readonly string[];
  #start = 0;
  #end = 0;
  /** Number of tables and elements that may still be visited: honest buffers do not share, so their size bounds it. */
  #budget = 0;
  /** The fields that led to the table at hand, for the message of an error. */
  readonly #path = new Int32Array(MAX_DEPTH + 1);

  constructor(type: string, names: readonly string[]) {
    this.#type = type;
    this.#names = names;
  }

  root(plan: VerifyPlan, view: DataView, start: number, end: number): number {
    if (end - start < 8) throw this.#broken(0, "is shorter than any table");
    this.#start = start;
    this.#end = end;
    this.#budget = 16 + (end - start);
    const position = this.#target(view, start, 0);
    this.#table(plan, view, position, 0);
    return position;
  }

  /** Checks a table. Most kinds of fields are checked right here: a call for each would take as long as the check. */
  #table(plan: VerifyPlan, view: DataView, position: number, depth: number): void {
    const end = this.#end;
    if (depth > MAX_DEPTH) throw this.#broken(MAX_DEPTH, `is nested deeper than ${MAX_DEPTH}`);
    if (--this.#budget < 0) throw this.#broken(depth, "has more parts than its size allows");
    const vtable = position - view.getInt32(position, true);
    if (vtable < this.#start || vtable + 4 > end || (vtable & 1) !== 0)
      throw this.#broken(depth, "has its vtable out of bounds");
    const sizes = view.getUint32(vtable, true);
    const vtableBytes = sizes & 0xffff;
    const tableBytes = sizes >>> 16;
    if (vtableBytes < 4 || (vtableBytes & 1) !== 0 || vtable + vtableBytes > end)
      throw this.#broken(depth, "has a broken vtable");
    if (tableBytes < 4 || position + tableBytes > end) throw this.#broken(depth, "reaches out of bounds");
    const { checks } = plan;
    for (let i = 0; i < checks.length; i++) {
      const check = checks[i] as Check;
      const { op, entry } = check;
      const inline = entry + 2 > vtableBytes ? 0 : view.getUint16(vtable + entry, true);
      if (inline === 0) {
        if (check.required) throw this.#brokenField(depth, check, "is required and absent");
        continue;
      }
      if (inline < 4 || inline + check.bytes > tableBytes)
        throw this.#brokenField(depth, check, "lies outside its table");
      const at = position + inline;
      if (op <= OP.struct) {
        if ((at & check.alignMask) !== 0) throw this.#brokenField(depth, check, "is not aligned");
        continue;
      }
      if (op > OP.string) {
        this.#path[depth] = check.name;
        this.#nested(check, view, position, at, depth);
        continue;
      }
      if ((at & 3) !== 0) throw this.#brokenField(depth, check, "is not aligned");
      const target = at + view.getUint32(at, true);
      if (target === at) throw this.#brokenField(depth, check, "points at itself");
      if (target + 4 > end) throw this.#brokenField(depth, check, "reaches out of bounds");
      if ((target & 3) !== 0) throw this.#brokenField(depth, check, "is not aligned");
      const length = view.getUint32(target, true);
      if (target + 4 + length * check.elementBytes + check.behindBytes > end)
        throw this.#brokenField(depth, check, "reaches out of bounds");
      if (length > 0 && ((target + 4) & check.alignMask) !== 0)
        throw this.#brokenField(depth, check, "is not aligned");
    }
  }

  /** A field that points at what points at something in turn. */
  #nested(check: Check, view: DataView, position: number, at: number, depth: number): void {
    const target = this.#target(view, at, depth + 1);
    if (check.op === OP.union) this.#union(check, view, position, target, depth);
    else if (check.plan === undefined) this.#strings(view, target, depth);
    else if (check.op === OP.table) this.#table(check.plan, view, target, depth + 1);
    else this.#tables(check.plan, view, target, depth);
  }

  #union({ entry, members }: Check, view: DataView, position: number, target: number, depth: number): void {
    const vtable = position - view.getInt32(position, true);
    const inline = view.getUint16(vtable + entry - 2, true);
    if (inline < 4 || inline >= view.getUint16(vtable + 2, true))
      throw this.#broken(depth + 1, "is a union without a tag");
    const tag = view.getUint8(position + inline);
    if (members?.has(tag) !== true) throw this.#broken(depth + 1, `has the unknown tag ${tag}`);
    const plan = members.get(tag);
    // A member that the reader does not know is not read.
    if (plan !== undefined) this.#table(plan, view, target, depth + 1);
  }

  #strings(view: DataView, position: number, depth: number): void {
    const end = position + 4 + 4 * this.#length(view, position, depth);
    for (let slot = position + 4; slot < end; slot += 4) {
      if (--this.#budget < 0) throw this.#broken(depth + 1, "has more parts than its size allows");
      this.#string(view, slot, depth);
    }
  }

  #tables(plan: VerifyPlan, view: DataView, position: number, depth: number): void {
    const end = position + 4 + 4 * this.#length(view, position, depth);
    const { isFlat, alignMask } = plan;
    // Of small tables most have the vtable of the one before, and are as sound as that where they lie aligned as it does.
    let vtable = -1;
    let tableBytes = 0;
    let aligned = 0;
    for (let slot = position + 4; slot < end; slot += 4) {
      const table = this.#target(view, slot, depth + 1);
      if (
        table - view.getInt32(table, true) === vtable &&
        (table & alignMask) === aligned &&
        table + tableBytes <= this.#end &&
        this.#budget > 0
      ) {
        this.#budget--;
        continue;
      }
      this.#table(plan, view, table, depth + 1);
      if (!isFlat) continue;
      vtable = table - view.getInt32(table, true);
      tableBytes = view.getUint16(vtable + 2, true);
      aligned = table & alignMask;
    }
  }

  #string(view: DataView, at: number, depth: number): void {
    const position = this.#target(view, at, depth + 1);
    const length = view.getUint32(position, true);
    // FlatBuffers' strings have a zero behind them.
    if (position + 5 + length > this.#end) throw this.#broken(depth + 1, "reaches out of bounds");
  }

  /** Length of a vector of offsets, whose room is checked. */
  #length(view: DataView, position: number, depth: number): number {
    const length = view.getUint32(position, true);
    if (position + 4 + length * 4 > this.#end) throw this.#broken(depth + 1, "reaches out of bounds");
    return length;
  }

  /** Target of the offset at `at`: always forwards, aligned, never out of bounds. */
  #target(view: DataView, at: number, depth: number): number {
    if ((at & 3) !== 0) throw this.#broken(depth, "is not aligned");
    const position = at + view.getUint32(at, true);
    if (position <= at) throw this.#broken(depth, "points at itself");
    if (position + 4 > this.#end) throw this.#broken(depth, "reaches out of bounds");
    if ((position & 3) !== 0) throw this.#broken(depth, "is not aligned");
    return position;
  }

  #brokenField(depth: number, { name }: Check, what: string): JechoError {
    this.#path[depth] = name;
    return this.#broken(depth + 1, what);
  }

  /** @param depth how many fields of the path belong to it */
  #broken(depth: number, what: string): JechoError {
    const names = Array.from(this.#path.subarray(0, depth), name => this.#names[name] ?? "");
    return new JechoError("EVENT_INVALID", `${[this.#type, ...names].join(".")} ${what}`);
  }
}
