/** Values that the ends of a colour scale stand for: they follow the data, but not nervously. */

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** Range of most values of a field, and that of all. */
export interface Spread extends Range {
  readonly least: number;
  readonly most: number;
}

/** Values that the ends of one picture's colours stand for, and whether others lie beyond. */
export interface Scale extends Range {
  readonly isBelow: boolean;
  readonly isAbove: boolean;
}

/** A range and for how many updates in a row it was wider than needed. */
export interface RangeState {
  readonly range: Range;
  readonly idle: number;
}

const TICKS = 5;
/** A narrower part of the range than this is worth a new one ... */
const NARROW = 0.6;
/** ... when it lasts for that many updates. */
const PATIENCE_UPDATES = 12;

/**
 * Grows at once where data lie outside; shrinks only after they filled less than 60 % of it for a dozen updates.
 * Its ends are round numbers.
 */
export function followRange(state: RangeState | undefined, data: Range): RangeState {
  if (state === undefined) return { range: niceRange(data), idle: 0 };
  const { range, idle } = state;
  const union = { low: Math.min(range.low, data.low), high: Math.max(range.high, data.high) };
  if (union.low < range.low || union.high > range.high) return { range: niceRange(union), idle: 0 };
  if (data.high - data.low >= NARROW * (range.high - range.low)) return { range, idle: 0 };
  if (idle + 1 < PATIENCE_UPDATES) return { range, idle: idle + 1 };
  const fitted = niceRange(data);
  const shrinks = fitted.high - fitted.low < range.high - range.low;
  return { range: shrinks ? fitted : range, idle: 0 };
}

/** The range widened to round numbers. */
export function niceRange({ low, high }: Range): Range {
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) {
    const half = Math.max(Math.abs(high) * 0.05, 1e-3);
    return niceRange({ low: low - half, high: high + half });
  }
  const step = niceStep((high - low) / TICKS);
  return {
    low: rounded(Math.floor(low / step + 1e-9) * step),
    high: rounded(Math.ceil(high / step - 1e-9) * step),
  };
}

/** The smallest of 1, 2, 5 times a power of ten that is not below. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find(candidate => candidate * power >= value * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Round numbers inside of a range, and with how many digits after the point to write them. */
export function ticksOf({ low, high }: Range, most = TICKS): { ticks: number[]; digits: number } {
  const step = niceStep((high - low) / most);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { ticks: Array.from({ length: Math.max(0, count) }, (_, i) => rounded((first + i) * step)), digits };
}

/** Share of a field's values at either end that a scale need not show: a few cells far out must not take the colours from all others. */
const TAIL = 0.02;

/** Spread of a field's values; large fields are sampled. Undefined where there is no finite value. */
export function spreadOf(values: Float32Array, mostSamples = 4096): Spread | undefined {
  // An odd stride does not stay in one column of an even grid.
  const stride = Math.max(1, Math.floor(values.length / mostSamples)) | 1;
  const sample = new Float32Array(Math.ceil(values.length / stride));
  let count = 0;
  for (let i = 0; i < values.length; i += stride) {
    const value = values[i] as number;
    if (Number.isFinite(value)) sample[count++] = value;
  }
  if (count === 0) return undefined;
  const sorted = sample.subarray(0, count).sort();
  const at = (share: number): number => sorted[Math.round(share * (count - 1))] as number;
  return { low: at(TAIL), high: at(1 - TAIL), least: at(0), most: at(1) };
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

/** The range of one scale: several views tell what they have, by key (a layer, say) each has its own. */
export class ColourRange {
  readonly #states = new Map<string, RangeState>();
  readonly #parts = new Map<string, { key: string; data: Spread }>();
  readonly #listeners = new Set<() => void>();
  #locked: Range | undefined;

  /** @param locked to be held from the beginning */
  constructor(locked?: Range) {
    this.#locked = locked;
  }

  /** Ends of a key's scale; undefined before any data. */
  rangeOf(key: string): Range | undefined {
    return this.#locked ?? this.#states.get(key)?.range;
  }

  /** Scale of a picture of that key; undefined before any data. */
  scaleOf(key: string): Scale | undefined {
    const range = this.rangeOf(key);
    if (range === undefined) return undefined;
    const parts = [...this.#parts.values()].filter(part => part.key === key);
    return {
      ...range,
      isBelow: parts.some(({ data }) => data.least < range.low),
      isAbove: parts.some(({ data }) => data.most > range.high),
    };
  }

  /** Takes the present spread of one view for a key. */
  offer(view: string, key: string, data: Spread | undefined): void {
    if (data === undefined) return;
    this.#parts.set(view, { key, data });
    const before = this.rangeOf(key);
    let { low, high } = data;
    for (const part of this.#parts.values()) {
      if (part.key !== key) continue;
      low = Math.min(low, part.data.low);
      high = Math.max(high, part.data.high);
    }
    this.#states.set(key, followRange(this.#states.get(key), { low, high }));
    if (this.rangeOf(key) !== before) this.#tell();
  }

  /** Range that is held whatever the data are; undefined while it follows them. */
  get locked(): Range | undefined {
    return this.#locked;
  }

  /** Holds a range, or lets it follow the data again. */
  lock(range: Range | undefined): void {
    this.#locked = range;
    this.#tell();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
