/**
 * Pressure of the 37 layers in hPa, from the lowest (index 0) to the highest: the pressure levels on which
 * the ECMWF reanalyses (ERA-Interim, ERA5) are published.
 */
export const LAYER_PRESSURES_HPA: readonly number[] = [
  1000, 975, 950, 925, 900, 875, 850, 825, 800, 775, 750, 700, 650, 600, 550, 500, 450, 400, 350, 300, 250,
  225, 200, 175, 150, 125, 100, 70, 50, 30, 20, 10, 7, 5, 3, 2, 1,
];

const SCALE_HEIGHT_KM = 7;
const SURFACE_PRESSURE_HPA = 1013.25;
const GRAVITY = 9.80665;
const OZONE_TO_AIR = 47.998 / 28.965;

/**
 * The log-pressure height in km: 7 km times ln(1013.25 hPa / pressure), good to about 1 km up to the
 * stratopause. Throws RangeError where the pressure (hPa) is not positive.
 */
export function approximateHeightKm(pressureHpa: number): number {
  if (!(pressureHpa > 0)) throw new RangeError(`pressure must be positive (hPa), not ${pressureHpa}`);
  return SCALE_HEIGHT_KM * Math.log(SURFACE_PRESSURE_HPA / pressureHpa);
}

/**
 * Kilograms of ozone that 1 ppmv amounts to over one square metre of each layer. A layer reaches half way to
 * its neighbours in pressure, the lowest one as far down as up, the highest one to the top of the atmosphere.
 */
export function ozonePerPpmv(pressuresHpa: readonly number[]): Float64Array {
  return Float64Array.from(pressuresHpa, (pressure, k) => {
    const above = pressuresHpa[k + 1];
    const below = pressuresHpa[k - 1] ?? 2 * pressure - (above ?? 0);
    const thicknessPa = 100 * ((below + pressure) / 2 - (above === undefined ? 0 : (pressure + above) / 2));
    return (thicknessPa / GRAVITY) * OZONE_TO_AIR * 1e-6;
  });
}

/** A piecewise linear function of ln(pressure), constant beyond its ends; knots are [hPa, value], pressure falling. */
export function pressureProfile(
  knots: readonly (readonly [number, number])[],
): (pressureHpa: number) => number {
  return pressureHpa => {
    let [lowerPressure, lowerValue] = knots[0] ?? [1, 0];
    if (pressureHpa >= lowerPressure) return lowerValue;
    for (const [pressure, value] of knots) {
      if (pressureHpa > pressure) {
        const weight = Math.log(lowerPressure / pressureHpa) / Math.log(lowerPressure / pressure);
        return lowerValue + weight * (value - lowerValue);
      }
      lowerPressure = pressure;
      lowerValue = value;
    }
    return lowerValue;
  };
}
