import type { Type } from "@jecho/shared";
import type { Stretch } from "@jecho/shared/internal";
import type { ConcernedModulator } from "../local/local-tier.ts";
import { bytesOfText } from "./data-shape.ts";
import { FieldReader, keyOfText } from "./field-reader.ts";
import type { Guard, GuardValue } from "./guards.ts";
import { type Interval, IntervalTree } from "./interval-tree.ts";

/** A program with its guards and data. */
export interface GuardedProgram {
  readonly derived: number;
  readonly guards: readonly Guard[];
  /** The type that it was written for. */
  readonly reader: Type;
  /** A number, boolean or text of its parameters and shared objects. */
  readonly dataAt: (path: string) => unknown;
}

/** Values of a field for which a program has to be called: these, or else those of an interval, and perhaps NaN. */
interface GuardedValues extends Interval {
  readonly keys: readonly number[] | undefined;
  readonly orNaN: boolean;
}

/** One program in the index of one field. */
interface GuardEntry extends GuardedValues {
  readonly derived: number;
  readonly field: FieldIndex;
}

/** Programs by the values of one field for which they have to be called. */
class FieldIndex {
  readonly #reader: FieldReader;
  readonly #equal = new Map<number, GuardEntry[]>();
  readonly #ranges = new IntervalTree<GuardEntry>();
  /** Entries of intervals that contain NaN as well. */
  readonly #orNaN = new Set<GuardEntry>();
  readonly #all = new Set<GuardEntry>();

  constructor(reader: FieldReader) {
    this.#reader = reader;
  }

  /** Number of programs that one value concerns for sure. */
  sizeOf(key: number): number {
    return this.#equal.get(key)?.length ?? 0;
  }

  add(entry: GuardEntry): void {
    this.#all.add(entry);
    for (const key of entry.keys ?? []) {
      const same = this.#equal.get(key);
      if (same === undefined) this.#equal.set(key, [entry]);
      else same.push(entry);
    }
    if (entry.keys !== undefined) return;
    if (entry.least <= entry.most) this.#ranges.add(entry);
    if (entry.orNaN) this.#orNaN.add(entry);
  }

  /** @returns whether it was the last one */
  delete(entry: GuardEntry): boolean {
    this.#all.delete(entry);
    for (const key of entry.keys ?? []) {
      const others = (this.#equal.get(key) ?? []).filter(other => other !== entry);
      if (others.length > 0) this.#equal.set(key, others);
      else this.#equal.delete(key);
    }
    if (entry.keys === undefined && entry.least <= entry.most) this.#ranges.delete(entry);
    this.#orNaN.delete(entry);
    return this.#all.size === 0;
  }

  /** Visits the programs that an event concerns: all of them where it is broken. */
  visit(view: DataView, start: number, end: number, visit: (entry: GuardEntry) => void): void {
    const value = this.#reader.read(view, start, end);
    if (value === undefined) for (const entry of this.#all) visit(entry);
    else if (Number.isNaN(value)) for (const entry of this.#orNaN) visit(entry);
    else {
      if (this.#equal.size > 0) for (const entry of this.#equal.get(value) ?? NONE) visit(entry);
      if (this.#ranges.size > 0) this.#ranges.around(value, visit);
    }
  }
}

const NONE: readonly GuardEntry[] = [];

/**
 * Modulators of one channel, by what their programs let through of events of one type. Each is in the index of the one field that tells
 * it best from the others. An event concerns more of them than let it through, and never fewer.
 */
export class GuardIndex {
  readonly #writer: Type;
  /** By the type that the programs were written for, and the field's name. */
  readonly #fields = new Map<string, FieldIndex>();
  readonly #entries = new Map<number, GuardEntry>();
  /** Modulators that every event concerns. */
  readonly #unguarded = new Map<number, ConcernedModulator>();

  /** @param writer the type that the events were written with */
  constructor(writer: Type) {
    this.#writer = writer;
  }

  /** Enters a modulator, or moves it. */
  set(program: GuardedProgram): void {
    const { derived } = program;
    this.delete(derived);
    let best: { name: string; values: GuardedValues; rank: number } | undefined;
    for (const name of new Set(program.guards.map(({ field }) => field))) {
      const values = valuesOf(program, name);
      if (values === undefined) continue;
      const rank = rankOf(values, this.#fields.get(keyOfField(program.reader, name)));
      if (best === undefined || rank < best.rank) best = { name, values, rank };
    }
    if (best === undefined) {
      this.always(derived);
      return;
    }
    const field = this.#fieldOf(program.reader, best.name);
    const { keys, least, most, orNaN } = best.values;
    const entry: GuardEntry = { derived, field, keys, least, most, orNaN };
    this.#entries.set(derived, entry);
    field.add(entry);
  }

  /** Enters a modulator that every event concerns. */
  always(derived: number): void {
    this.delete(derived);
    this.#unguarded.set(derived, { derived, picks: undefined });
  }

  delete(derived: number): void {
    this.#unguarded.delete(derived);
    const entry = this.#entries.get(derived);
    this.#entries.delete(derived);
    if (entry?.field.delete(entry) !== true) return;
    for (const [name, field] of this.#fields) if (field === entry.field) this.#fields.delete(name);
  }

  /** The modulators that a run concerns; undefined for all. */
  concerned({ bytes, bounds, first, end }: Stretch): ConcernedModulator[] | undefined {
    if (this.#entries.size === 0) return undefined;
    const concerned: ConcernedModulator[] = [...this.#unguarded.values()];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // They are not kept with the entries: what lives until a program's next run is what engines collect at a high price.
    const picked = new Map<number, number[]>();
    let event = first;
    const visit = ({ derived }: GuardEntry): void => {
      const picks = picked.get(derived);
      if (picks === undefined) picked.set(derived, [event]);
      else if (picks.at(-1) !== event) picks.push(event);
    };
    for (; event < end; event++)
      for (const field of this.#fields.values())
        field.visit(view, bounds[2 * event] as number, bounds[2 * event + 1] as number, visit);
    for (const [derived, picks] of picked) concerned.push({ derived, picks });
    return concerned;
  }

  #fieldOf(reader: Type, name: string): FieldIndex {
    const key = keyOfField(reader, name);
    let field = this.#fields.get(key);
    if (field === undefined) {
      field = new FieldIndex(new FieldReader(this.#writer, reader, name));
      this.#fields.set(key, field);
    }
    return field;
  }
}

function keyOfField(reader: Type, name: string): string {
  return `${reader.token} ${name}`;
}

/** The lower, the fewer events concern the program, as far as can be told. */
function rankOf({ keys, least, most }: GuardedValues, field: FieldIndex | undefined): number {
  if (keys !== undefined) return keys.reduce((programs, key) => programs + (field?.sizeOf(key) ?? 0), 0);
  return Number.isFinite(least) && Number.isFinite(most) ? 1e9 : 2e9;
}

/** The values of a field for which a program has to be called; undefined for any. */
function valuesOf({ guards, dataAt }: GuardedProgram, field: string): GuardedValues | undefined {
  let keys: number[] | undefined;
  let [least, most, orNaN] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, true];
  let isRange = false;
  for (const guard of guards) {
    if (guard.field !== field) continue;
    if (guard.is === "equal") {
      const all = guard.to.map(value => keyOf(value, dataAt));
      if (all.includes(undefined)) continue;
      // NaN equals nothing.
      const found = [...new Set(all as number[])].filter(key => !Number.isNaN(key));
      if (keys === undefined || found.length < keys.length) keys = found;
      continue;
    }
    const bound = keyOf(guard.value, dataAt);
    if (bound === undefined || (Number.isNaN(bound) && guard.orNaN)) continue;
    isRange = true;
    orNaN &&= guard.orNaN;
    // No number is beyond NaN: nothing passes.
    if (Number.isNaN(bound)) [least, most] = [1, 0];
    else if (guard.is === "least") least = Math.max(least, bound);
    else most = Math.min(most, bound);
  }
  return keys === undefined && !isRange ? undefined : { keys, least, most, orNaN };
}

/** The number that stands for a value in the index; undefined where none does. */
function keyOf(value: GuardValue, dataAt: (path: string) => unknown): number | undefined {
  const known = value.from === "source" ? value.value : dataAt(value.path);
  if (typeof known === "number") return known;
  if (typeof known === "boolean") return Number(known);
  const bytes = typeof known === "string" ? bytesOfText(known) : known;
  return bytes instanceof Uint8Array ? keyOfText(bytes) : undefined;
}
