import { Grid } from "./grid.ts";

/** Ozone that is set free at a place for a while. */
export interface Source {
  /** Degrees north, -90..90. */
  readonly latitude: number;
  /** Degrees east, any turn of the circle. */
  readonly longitude: number;
  /** Index of the layer, 0 = lowest. */
  readonly layer: number;
  /** Growth at the centre in ppmv per day, positive. */
  readonly amount: number;
  /** Distance at which a Gaussian footprint has fallen to 1/e, in km; 500 by default, up to 5000. */
  readonly radiusKm?: number;
  /** Model hours for which it lasts, 24 by default. */
  readonly durationHours?: number;
}

/** A source that a model has taken in. */
export interface ActiveSource extends Required<Source> {
  readonly id: number;
  /** Model time in seconds at which it ends. */
  readonly endsAt: number;
  /** Kilograms of ozone that it sets free over its whole duration. */
  readonly massKg: number;
}

/** The points of the grid that a source reaches, and the share of its amount that each receives. */
export interface Footprint {
  readonly points: Uint32Array;
  readonly shares: Float64Array;
}

/**
 * A Gaussian around a place. It is normalised so that its area integral is that of a Gaussian on the plane,
 * pi times radius squared: a source gives the same mass on every grid, however coarse.
 */
export function footprintOf(grid: Grid, latitude: number, longitude: number, radiusKm: number): Footprint {
  const points: number[] = [];
  const shares: number[] = [];
  let integral = 0;
  const add = (j: number, i: number, share: number) => {
    points.push(j * grid.columns + i);
    shares.push(share);
    integral += share * (grid.pointArea[j] as number);
  };
  grid.latitudes.forEach((rowLatitude, j) => {
    const isPole = j === 0 || j === grid.rows - 1;
    for (let i = 0; i < grid.columns; i++) {
      // All columns of a pole are one cell and must stay equal to the last bit.
      const east = isPole ? longitude : (grid.longitudes[i] as number);
      const distance = Grid.distanceKm(latitude, longitude, rowLatitude, east) / radiusKm;
      if (distance < 4) add(j, i, Math.exp(-distance * distance));
    }
  });
  if (integral === 0) {
    const j = Math.round((90 - latitude) / grid.latStep);
    const nearest = Math.round(longitude / grid.lonStep);
    const isPole = j === 0 || j === grid.rows - 1;
    if (isPole) for (let i = 0; i < grid.columns; i++) add(j, i, 1);
    else add(j, ((nearest % grid.columns) + grid.columns) % grid.columns, 1);
  }
  const scale = (Math.PI * (radiusKm * 1000) ** 2) / integral;
  return { points: Uint32Array.from(points), shares: Float64Array.from(shares, share => share * scale) };
}

/** Throws RangeError, naming the cause, unless a source can be taken in by a model of that many layers. */
export function checkSource(source: Source, layers: number): void {
  const { latitude, longitude, layer, amount, radiusKm = 500, durationHours = 24 } = source;
  if (!(Math.abs(latitude) <= 90))
    throw new RangeError(`source latitude must be -90..90 degrees, not ${latitude}`);
  if (!Number.isFinite(longitude)) throw new RangeError(`source longitude must be finite, not ${longitude}`);
  if (!Number.isInteger(layer) || layer < 0 || layer >= layers) {
    throw new RangeError(`source layer must be an integer from 0 to ${layers - 1}, not ${layer}`);
  }
  if (!(amount > 0 && amount <= 1000)) {
    throw new RangeError(`source amount must be over 0 and up to 1000 ppmv per day, not ${amount}`);
  }
  if (!(radiusKm > 0 && radiusKm <= 5000)) {
    throw new RangeError(`source radius must be over 0 and up to 5000 km, not ${radiusKm}`);
  }
  if (!(durationHours > 0 && durationHours <= 8766)) {
    throw new RangeError(`source duration must be over 0 and up to 8766 hours, not ${durationHours}`);
  }
}
