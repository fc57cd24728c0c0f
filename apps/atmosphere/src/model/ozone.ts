import { northernWinter } from "./calendar.ts";
import { approximateHeightKm, pressureProfile } from "./layers.ts";

const days = pressureProfile([
  [1000, 20],
  [500, 40],
  [200, 90],
  [100, 120],
  [50, 90],
  [30, 60],
  [20, 40],
  [10, 20],
  [5, 8],
  [3, 4],
  [1, 2],
]);

/**
 * How fast ozone returns to its equilibrium at a pressure (hPa), in seconds: two days at 1 hPa, twenty at 10
 * hPa, four months at 100 hPa, three weeks at the ground. Round numbers after the photochemical lifetimes in
 * Brasseur and Solomon (2005), Aeronomy of the Middle Atmosphere, chapter 5; in the troposphere they stand
 * for surface loss and mixing.
 */
export function relaxationTime(pressureHpa: number): number {
  return 86400 * days(pressureHpa);
}

/**
 * The ozone mixing ratio (ppmv) towards which chemistry and the slow overturning drive the air, zonally
 * symmetric.
 *
 * An idealised climatology in round numbers, with the features of observed ones (Fortuin and Kelder 1998,
 * Journal of Geophysical Research 103, 31709-31734; McPeters and Labow 2012, ibid. 117, D10303), not fitted
 * to them: nearly 10 ppmv at 10 hPa over the summer side of the equator, 6 ppmv somewhat higher over the
 * poles; a tropopause that steps down around 33 degrees, so that the lower stratosphere holds more ozone
 * outside the tropics, most in spring; a hole over Antarctica from September to November; 0.03 to 0.06 ppmv
 * in the troposphere.
 *
 * Latitude in degrees north, pressure in hPa, month in 0..12 (0 = mid January).
 */
export function equilibriumOzone(latitude: number, pressureHpa: number, month: number): number {
  const height = approximateHeightKm(pressureHpa);
  const winter = northernWinter(month);
  const fromThermalEquator = latitude + 8 * (2 * winter - 1);
  const sine = Math.sin((fromThermalEquator * Math.PI) / 180);
  const polar = 0.7 / (1 + Math.exp((33 - Math.abs(fromThermalEquator)) / 7)) + 0.3 * sine * sine;

  const peakHeight = 32 + 4 * polar;
  const peak = 9.8 - 3.8 * polar;
  const above = height > peakHeight;
  const width = above ? 14.5 : 8 + 7 * polar;
  let ozone = peak * Math.exp(-(((height - peakHeight) / width) ** 2));

  // Transport has filled the lower stratosphere by the end of winter: March in the north, October in the south.
  const lower = 1 / (1 + Math.exp((height - 24) / 2));
  const spring = latitude > 0 ? seasonal(month, 2) : seasonal(month, 9);
  ozone *= 1 + 0.35 * polar * lower * Math.min(1, Math.abs(latitude) / 30) * spring;

  const holeSeason = Math.max(0, seasonal(month, 9)) ** 3;
  const overAntarctica = 1 / (1 + Math.exp((latitude + 66) / 3));
  const holeHeight = Math.exp(-(((height - 17.5) / 4.5) ** 4));
  ozone *= 1 - 0.8 * holeSeason * overAntarctica * holeHeight;

  const northern = 1 / (1 + Math.exp(-latitude / 15));
  const tropospheric =
    (0.03 + 0.02 * northern) * (1 + 0.25 * Math.cos(((month - 4) / 6) * Math.PI) * northern);
  return ozone * tropopause(height, polar) + tropospheric;
}

/** Cuts the stratosphere's ozone off below the tropopause: near 16 km in the tropics, 9 km at the poles. */
function tropopause(height: number, polar: number): number {
  return 1 / (1 + Math.exp((15.5 - 7 * polar - height) / 0.8));
}

function seasonal(month: number, best: number): number {
  return Math.cos(((month - best) / 6) * Math.PI);
}
