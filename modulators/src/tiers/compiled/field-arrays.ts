import { arrayAt, KINDS } from "./array-kinds.ts";
import { type Code, type CodeGlobal, type CodeLocal, call, f64, get, i32, op, set } from "./code.ts";
import type { CodeField } from "./fields.ts";
import type { EventVector, TypedArray } from "./known.ts";

/** An array that a field holds: the variables that say where, as long as the program runs; and the number that the tier knows its room by. */
interface HeldArray {
  readonly start: CodeLocal;
  readonly length: CodeLocal;
  readonly array: TypedArray;
  readonly number: number;
}

const ARRAYS = Object.keys(KINDS) as TypedArray[];

/**
 * Typed arrays that fields of the modulator hold. Each lies in a block of its own, which the tier gives it. What is assigned to the field is copied there:
 * other names of that array are no names of the field's.
 */
export class FieldArrays {
  readonly #held = new Map<CodeField, HeldArray>();
  readonly #vectors = new Set<EventVector>();

  /** @param index the field's place in the class: the same in all programs of the modulator */
  add(field: CodeField, index: number, array: TypedArray): void {
    const number = index * ARRAYS.length + ARRAYS.indexOf(array);
    this.#held.set(field, { start: { type: "i32" }, length: { type: "i32" }, array, number });
    this.#renew(field);
  }

  /** Code that finds them, for a run of events. */
  get begin(): Code[] {
    return [...this.#held].flatMap(([{ globals }, { start, length }]) =>
      [start, length].map((local, i) => set(local, { is: "getGlobal", global: globals[i] as CodeGlobal })),
    );
  }

  /** Code that makes what a field holds at first: so many zeros. */
  init(field: CodeField, length: number): Code[] {
    const { number, array } = this.#held.get(field) as HeldArray;
    const [start, count] = field.globals as [CodeGlobal, CodeGlobal];
    const bytes = length * KINDS[array].bytes;
    if (bytes === 0) return [];
    return [
      { is: "setGlobal", global: start, value: reserved(number, f64(bytes)) },
      { is: "zero", at: { is: "getGlobal", global: start }, bytes: i32(bytes) },
      { is: "setGlobal", global: count, value: i32(length) },
    ];
  }

  /** Whether the array is one that a field holds, or held. */
  holds(vector: EventVector): boolean {
    return this.#vectors.has(vector);
  }

  /** Code that copies an array into a field, which is another one from there on. */
  store(field: CodeField, vector: EventVector): Code[] {
    const { start, length, array, number } = this.#held.get(field) as HeldArray;
    const [startGlobal, lengthGlobal] = field.globals as [CodeGlobal, CodeGlobal];
    this.#renew(field);
    const { bytes } = KINDS[array];
    const size = op("f64.mul", op("f64.convert_i32_u", get(vector.length)), f64(bytes));
    return [
      set(start, reserved(number, size)),
      {
        is: "copy",
        to: get(start),
        from: get(vector.start),
        bytes: op("i32.mul", get(vector.length), i32(bytes)),
      },
      set(length, get(vector.length)),
      { is: "setGlobal", global: startGlobal, value: get(start) },
      { is: "setGlobal", global: lengthGlobal, value: get(length) },
    ];
  }

  #renew(field: CodeField): void {
    const { start, length, array } = this.#held.get(field) as HeldArray;
    field.vector = arrayAt(array, start, length, array);
    this.#vectors.add(field.vector);
  }
}

function reserved(number: number, bytes: Code): Code {
  return op("i32.trunc_sat_f64_u", call("reserve", f64(number), bytes));
}
