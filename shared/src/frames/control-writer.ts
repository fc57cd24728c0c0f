import { alignUp, OP, type Plan, type PlannedField, planOf } from "../types/encode-plan.ts";
import type { ObjectType } from "../types/schema.ts";
import { utf8Bound, writeUtf8 } from "../types/utf8.ts";
import { invalid, listOf, memberOf, writeScalar } from "../types/written-values.ts";

/*
 * Control messages are small, and most are written when nothing has happened for a while and the processor's caches have forgotten all
 * about it. So they are written in one walk, without measuring them first, into memory that grows where it has to.
 */

/** Most are smaller by far. */
const SCRATCH_BYTES = 4096;

/** Where the parts of a frame lie that are the same in all: its size, where its root is, the root's vtable, and the root. */
const AT = { size: 0, rootOffset: 4, vtable: 8, root: 24, control: 28, tag: 32, end: 33 } as const;
/** The vtable's words: its bytes, the root's, and where the slots of Frame lie in that up to `control`. */
const ROOT_VTABLE = [14, AT.end - AT.root, 0, 0, 0, AT.tag - AT.root, AT.control - AT.root] as const;

type Member = PlannedField["members"][number];

/** Writes control messages as frames. */
export class ControlWriter {
  readonly #union: PlannedField;
  readonly #members: ReadonlyMap<unknown, Member>;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Where the next byte goes. */
  #at = 0;

  /** @param frame the table with the union of control messages as `control` */
  constructor(frame: ObjectType) {
    const union = planOf(frame).fields.find(({ op }) => op === OP.union);
    if (union?.entry !== 4 + 2 * (ROOT_VTABLE.length - 3))
      throw new TypeError("control lies in another slot");
    this.#union = union;
    this.#members = new Map(union.members.map(member => [member.name, member]));
  }

  /**
   * One control message as a frame of its own, a multiple of 8 bytes, in memory that the next call writes over.
   *
   * @throws JechoError `EVENT_INVALID` naming the field
   */
  write(control: { readonly kind: string }): Uint8Array<ArrayBuffer> {
    // Memory for an unusually large one is not kept.
    if (this.#bytes.byteLength !== SCRATCH_BYTES) this.#begin(SCRATCH_BYTES);
    const { tag, plan } = this.#members.get(control.kind) ?? memberOf(this.#union, control);
    this.#at = AT.end;
    const position = this.#table(plan, control);
    const end = alignUp(this.#at, 8);
    this.#reach(end);
    this.#bytes.fill(0, this.#at, end);
    const view = this.#view;
    view.setUint32(AT.size, end - 4, true);
    view.setUint32(AT.control, position - AT.control, true);
    view.setUint8(AT.tag, tag);
    return this.#bytes.subarray(0, end);
  }

  #begin(bytes: number): void {
    this.#bytes = new Uint8Array(bytes);
    const view = new DataView(this.#bytes.buffer);
    this.#view = view;
    view.setUint32(AT.rootOffset, AT.root - AT.rootOffset, true);
    for (let i = 0; i < ROOT_VTABLE.length; i++)
      view.setUint16(AT.vtable + 2 * i, ROOT_VTABLE[i] as number, true);
    view.setInt32(AT.root, AT.root - AT.vtable, true);
  }

  /** There is room up to this place. */
  #reach(end: number): void {
    const former = this.#bytes;
    if (end <= former.byteLength) return;
    this.#begin(2 * end);
    this.#bytes.set(former);
  }

  /** @returns where it lies */
  #table(plan: Plan, value: unknown): number {
    if (typeof value !== "object" || value === null) throw invalid(plan.name, "an object", value);
    const { fields, vtableBytes, vtable: words } = plan;
    // At 4 modulo 8, as the plan has it.
    const position = alignUp(this.#at + vtableBytes + 4, 8) - 4;
    const vtable = position - vtableBytes;
    const end = position + plan.bytes;
    this.#reach(end);
    this.#bytes.fill(0, this.#at, end);
    this.#at = end;
    for (let i = 0; i < words.length; i++) this.#view.setUint16(vtable + 2 * i, words[i] as number, true);
    this.#view.setInt32(position, vtableBytes, true);
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as PlannedField;
      const inner = (value as Record<string, unknown>)[field.name];
      const at = position + field.inline;
      if (field.op <= OP.bool) {
        writeScalar(this.#view, at, field, inner ?? field.defaultValue);
      } else if (inner === undefined || inner === null) {
        this.#view.setUint16(vtable + field.entry, 0, true);
      } else {
        const target = this.#outside(field, inner);
        this.#view.setUint32(at, target - at, true);
      }
    }
    return position;
  }

  /** Writes what a table or vector points at. @returns where it lies */
  #outside(field: PlannedField, value: unknown): number {
    if (field.op === OP.string) return this.#string(value, field.path);
    if (field.op === OP.table) return this.#table(field.plan as Plan, value);
    return this.#vector(field.element as PlannedField, listOf(value, field.path));
  }

  #string(text: unknown, path: string): number {
    if (typeof text !== "string") throw invalid(path, "a string", text);
    const position = this.#place(4, 0, 5 + utf8Bound(text));
    const length = writeUtf8(this.#bytes, position + 4, text);
    this.#view.setUint32(position, length, true);
    this.#at = position + 5 + length;
    this.#bytes[this.#at - 1] = 0;
    return position;
  }

  #vector(element: PlannedField, list: ArrayLike<unknown>): number {
    const { length } = list;
    const { size, op } = element;
    const position = this.#place(Math.max(4, element.align), 4, 4 + length * size);
    const start = position + 4;
    this.#view.setUint32(position, length, true);
    this.#at = start + length * size;
    if (op === OP.uint8 && list instanceof Uint8Array) {
      this.#bytes.set(list, start);
      return position;
    }
    for (let i = 0; i < length; i++) {
      const at = start + i * size;
      if (op <= OP.bool) {
        writeScalar(this.#view, at, element, list[i]);
        continue;
      }
      const target = this.#outside(element, list[i]);
      this.#view.setUint32(at, target - at, true);
    }
    return position;
  }

  /** Room for so many bytes, of which those behind the first `ahead` are aligned. @returns where they begin */
  #place(align: number, ahead: number, bytes: number): number {
    const position = alignUp(this.#at + ahead, align) - ahead;
    this.#reach(position + bytes);
    this.#bytes.fill(0, this.#at, position);
    return position;
  }
}
