/** The vertical axis of a section: the logarithm of pressure, which is nearly linear in height. */
import { approximateHeightKm } from "../../../src/model/layers.ts";

export interface HeightAxis {
  /** hPa, from the lowest layer up. */
  readonly pressures: readonly number[];
  /** hPa at the lower and the upper end of the axis. */
  readonly bottom: number;
  readonly top: number;
}

const PRESSURE_TICKS = [1000, 700, 500, 300, 200, 100, 70, 50, 30, 20, 10, 7, 5, 3, 2, 1];
const KILOMETRE_STEPS = [5, 10, 20];

/** Reaches half a layer beyond the lowest and the highest one. */
export function heightAxis(pressures: readonly number[]): HeightAxis {
  const [first = 1000, second = first / 1.1] = pressures;
  const last = pressures.at(-1) ?? 1;
  const beforeLast = pressures.at(-2) ?? last * 1.1;
  return {
    pressures,
    bottom: first * Math.sqrt(first / second),
    top: last * Math.sqrt(last / beforeLast),
  };
}

/** 0 at the bottom, 1 at the top. */
export function fractionOfPressure({ bottom, top }: HeightAxis, pressure: number): number {
  return Math.log(bottom / pressure) / Math.log(bottom / top);
}

export function pressureOfFraction({ bottom, top }: HeightAxis, fraction: number): number {
  return bottom * (top / bottom) ** fraction;
}

/** The layer that a height is in, with its fraction towards the next: 3.5 is half way from layer 3 to layer 4. */
export function layerOfFraction(axis: HeightAxis, fraction: number): number {
  const pressure = pressureOfFraction(axis, fraction);
  const { pressures } = axis;
  const above = pressures.findIndex(layer => layer <= pressure);
  if (above === 0) return 0;
  if (above < 0) return pressures.length - 1;
  const [lower, upper] = [pressures[above - 1] as number, pressures[above] as number];
  return above - 1 + Math.log(lower / pressure) / Math.log(lower / upper);
}

/** `layerOfFraction` at that many evenly spaced heights, from the bottom up, for a shader to look up. */
export function layerTable(axis: HeightAxis, entries: number): Float32Array {
  return Float32Array.from({ length: entries }, (_, i) => layerOfFraction(axis, (i + 0.5) / entries));
}

/** Tick marks not nearer to each other than `apart`, as fractions of the axis. */
export function pressureTicks(axis: HeightAxis, apart: number): { label: string; fraction: number }[] {
  const ticks = PRESSURE_TICKS.map(pressure => ({
    label: String(pressure),
    fraction: fractionOfPressure(axis, pressure),
  }));
  return spread(ticks, apart);
}

export function kilometreTicks(axis: HeightAxis, apart: number): { label: string; fraction: number }[] {
  const [low, high] = [approximateHeightKm(axis.bottom), approximateHeightKm(axis.top)];
  const step = KILOMETRE_STEPS.find(km => km / (high - low) >= apart) ?? 50;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => {
    const km = (first + i) * step;
    return { label: String(km), fraction: (km - low) / (high - low) };
  });
}

function spread<T extends { fraction: number }>(ticks: T[], apart: number): T[] {
  let last = Number.NEGATIVE_INFINITY;
  return ticks.filter(({ fraction }) => {
    if (fraction < 0 || fraction > 1 || fraction - last < apart) return false;
    last = fraction;
    return true;
  });
}
