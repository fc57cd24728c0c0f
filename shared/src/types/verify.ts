import { JechoError } from "../errors.ts";
import {
  type ElementKind,
  elementAlign,
  elementBytes,
  type Kind,
  type ObjectType,
  SCALAR_BYTES,
} from "./schema.ts";

/*
 * FlatBuffers for JavaScript trusts its input: offsets are signed there and bytes out of range read as 0. This walks a
 * buffer along its schema first: unsigned bounds, alignment, depth, and a budget against tables that share their parts.
 */

const MAX_DEPTH = 16;

interface Walk {
  readonly view: DataView;
  /** Everything lies in [start, end). */
  readonly start: number;
  readonly end: number;
  /** How many more tables and elements may be visited: honest buffers do not share, so their size bounds it. */
  budget: number;
}

/**
 * Checks that the bytes [start, end) are a FlatBuffer of this type that every reader can read without harm.
 *
 * @param start a multiple of 8 of the view, from whose start alignment is counted
 * @throws JechoError `EVENT_INVALID`, naming the field and what is wrong
 */
export function verify(type: ObjectType, view: DataView, start: number, end: number): void {
  const walk: Walk = { view, start, end, budget: 16 + (end - start) };
  if (end - start < 8 || end > view.byteLength) throw broken(type.name, "is shorter than any table");
  verifyTable(walk, type, target(walk, start, type.name), type.name, 0);
}

function verifyTable(walk: Walk, type: ObjectType, position: number, path: string, depth: number): void {
  const { view, start, end } = walk;
  if (depth > MAX_DEPTH) throw broken(path, `is nested deeper than ${MAX_DEPTH}`);
  if (--walk.budget < 0) throw broken(path, "has more parts than its size allows");
  aligned(position, 4, path);
  inside(walk, position, 4, path);
  const vtable = position - view.getInt32(position, true);
  if (vtable < start || vtable + 4 > end || (vtable & 1) !== 0)
    throw broken(path, "has its vtable out of bounds");
  const vtableBytes = view.getUint16(vtable, true);
  const tableBytes = view.getUint16(vtable + 2, true);
  if (vtableBytes < 4 || (vtableBytes & 1) !== 0 || vtable + vtableBytes > end)
    throw broken(path, "has a broken vtable");
  if (tableBytes < 4 || position + tableBytes > end) throw broken(path, "reaches out of bounds");
  const inlineOf = (slot: number): number => {
    const entry = 4 + 2 * slot;
    return entry + 2 > vtableBytes ? 0 : view.getUint16(vtable + entry, true);
  };
  for (const field of type.fields) {
    const inline = inlineOf(field.place);
    const fieldPath = `${path}.${field.name}`;
    if (inline === 0) {
      if (field.required) throw broken(fieldPath, "is required and absent");
      continue;
    }
    const { kind } = field;
    const bytes = kind.is === "vector" || kind.is === "union" ? 4 : elementBytes(kind);
    if (inline < 4 || inline + bytes > tableBytes) throw broken(fieldPath, "lies outside its table");
    const at = position + inline;
    if (kind.is === "union") {
      const tagInline = inlineOf(field.place - 1);
      if (tagInline < 4 || tagInline >= tableBytes) throw broken(fieldPath, "is a union without a tag");
      const tag = view.getUint8(position + tagInline);
      const member = kind.members.find(candidate => candidate.tag === tag);
      if (member === undefined) throw broken(fieldPath, `has the unknown tag ${tag}`);
      verifyTable(walk, member.object, target(walk, at, fieldPath), fieldPath, depth + 1);
    } else {
      verifyAt(walk, kind, at, fieldPath, depth);
    }
  }
}

function verifyAt(walk: Walk, kind: Kind, at: number, path: string, depth: number): void {
  switch (kind.is) {
    case "scalar":
      aligned(at, SCALAR_BYTES[kind.scalar], path);
      break;
    case "string": {
      const position = target(walk, at, path);
      const length = vectorLength(walk, position, 1, path);
      inside(walk, position + 4 + length, 1, path);
      break;
    }
    case "vector":
      verifyVector(walk, kind.of, target(walk, at, path), path, depth);
      break;
    case "object":
      if (kind.object.isStruct) aligned(at, kind.object.align, path);
      else verifyTable(walk, kind.object, target(walk, at, path), path, depth + 1);
      break;
    case "union":
      break;
  }
}

function verifyVector(walk: Walk, of: ElementKind, position: number, path: string, depth: number): void {
  const size = elementBytes(of);
  const length = vectorLength(walk, position, size, path);
  aligned(position + 4, length === 0 ? 4 : elementAlign(of), path);
  if (of.is === "string" || (of.is === "object" && !of.object.isStruct)) {
    for (let i = 0; i < length; i++) {
      if (--walk.budget < 0) throw broken(path, "has more parts than its size allows");
      verifyAt(walk, of, position + 4 + 4 * i, path, depth);
    }
  }
}

function vectorLength(walk: Walk, position: number, size: number, path: string): number {
  aligned(position, 4, path);
  inside(walk, position, 4, path);
  const length = walk.view.getUint32(position, true);
  inside(walk, position + 4, length * size, path);
  return length;
}

/** Where the offset at `at` leads: always forwards, never out of bounds. */
function target(walk: Walk, at: number, path: string): number {
  aligned(at, 4, path);
  const position = at + walk.view.getUint32(at, true);
  if (position <= at) throw broken(path, "points at itself");
  inside(walk, position, 4, path);
  return position;
}

function inside(walk: Walk, position: number, bytes: number, path: string): void {
  if (position < walk.start || position + bytes > walk.end) throw broken(path, "reaches out of bounds");
}

function aligned(position: number, align: number, path: string): void {
  if (position % align !== 0) throw broken(path, "is not aligned");
}

function broken(path: string, what: string): JechoError {
  return new JechoError("EVENT_INVALID", `${path} ${what}`);
}
