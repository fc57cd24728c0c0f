import { EARTH_RADIUS, Grid } from "../../src/model/grid.ts";

const RADIANS = Math.PI / 180;

/** Williamson et al. 1992: once around in twelve days. */
export const ROTATION_SECONDS = 12 * 86400;
export const ROTATION_SPEED = (2 * Math.PI * EARTH_RADIUS) / ROTATION_SECONDS;

/** The stream function of a solid body's rotation about an axis that is tilted by alpha (radians). */
export function rotation(grid: Grid, alpha: number): Float64Array {
  const { columns, latStep, lonStep } = grid;
  return Float64Array.from({ length: (grid.rows - 1) * columns }, (_, n) => {
    const latitude = ((grid.latitudes[Math.floor(n / columns)] as number) - latStep / 2) * RADIANS;
    const longitude = ((grid.longitudes[n % columns] as number) + lonStep / 2) * RADIANS;
    const height =
      Math.sin(latitude) * Math.cos(alpha) - Math.cos(longitude) * Math.cos(latitude) * Math.sin(alpha);
    return -EARTH_RADIUS * ROTATION_SPEED * height;
  });
}

/** A cosine bell of height 1000 and a third of the earth's radius at 0 north, 270 east, on a ground of `base`. */
export function cosineBell(grid: Grid, base = 0): Float32Array {
  return fieldOf(grid, (latitude, longitude) => {
    const distance = (Grid.distanceKm(0, 270, latitude, longitude) * 1000) / (EARTH_RADIUS / 3);
    return base + (distance < 1 ? 500 * (1 + Math.cos(Math.PI * distance)) : 0);
  });
}

export function fieldOf(grid: Grid, value: (latitude: number, longitude: number) => number): Float32Array {
  return Float32Array.from({ length: grid.rows * grid.columns }, (_, n) => {
    const latitude = grid.latitudes[Math.floor(n / grid.columns)] as number;
    return value(latitude, Math.abs(latitude) === 90 ? 0 : (grid.longitudes[n % grid.columns] as number));
  });
}

/** The normalised errors of Williamson et al. 1992, equations 82 to 84. */
export function errors(grid: Grid, field: Float32Array, exact: Float32Array) {
  const norm = (map: (n: number) => number) => grid.integrate(Float32Array.from(field, (_, n) => map(n)));
  const wrong = (n: number) => (field[n] as number) - (exact[n] as number);
  const largest = (map: (n: number) => number) =>
    field.reduce((max, _, n) => Math.max(max, Math.abs(map(n))), 0);
  const right = (n: number) => exact[n] as number;
  return {
    l1: norm(n => Math.abs(wrong(n))) / norm(n => Math.abs(right(n))),
    l2: Math.sqrt(norm(n => wrong(n) ** 2) / norm(n => right(n) ** 2)),
    linf: largest(wrong) / largest(right),
  };
}

export function range(field: Float32Array): [number, number] {
  return [field.reduce((a, b) => Math.min(a, b)), field.reduce((a, b) => Math.max(a, b))];
}
