/** The earth's mean radius in metres. */
export const EARTH_RADIUS = 6.371e6;

const RADIANS = Math.PI / 180;

/**
 * A latitude-longitude grid of points that are the centres of finite volumes. Row 0 is the north pole, the
 * last row the south pole, column 0 the Greenwich meridian. Each pole is one cell, a cap of half a row's
 * height; all columns of its row stand for it and hold the same value.
 *
 * Throws RangeError unless rows >= 9 and columns is even and >= 16 (a meridian continues beyond the pole on a
 * column).
 */
export class Grid {
  readonly rows: number;
  readonly columns: number;
  /** Degrees from a row to the next one south, positive. */
  readonly latStep: number;
  /** Degrees from a column to the next one east. */
  readonly lonStep: number;
  /** Degrees north, one per row. */
  readonly latitudes: Float64Array;
  /** Degrees east, one per column. */
  readonly longitudes: Float64Array;
  /** Square metres that one point of each row stands for; a cap's area is shared by the points of its row. */
  readonly pointArea: Float64Array;

  constructor(rows: number, columns: number) {
    if (!Number.isInteger(rows) || rows < 9 || rows > 2881) {
      throw new RangeError(`rows must be an integer from 9 to 2881, not ${rows}`);
    }
    if (!Number.isInteger(columns) || columns < 16 || columns > 5760 || columns % 2 !== 0) {
      throw new RangeError(`columns must be an even integer from 16 to 5760, not ${columns}`);
    }
    this.rows = rows;
    this.columns = columns;
    this.latStep = 180 / (rows - 1);
    this.lonStep = 360 / columns;
    this.latitudes = Float64Array.from({ length: rows }, (_, j) => 90 - j * this.latStep);
    this.longitudes = Float64Array.from({ length: columns }, (_, i) => i * this.lonStep);
    const band = (2 * Math.PI * EARTH_RADIUS ** 2) / columns;
    this.pointArea = this.latitudes.map(latitude => {
      const north = Math.min(90, latitude + this.latStep / 2);
      const south = Math.max(-90, latitude - this.latStep / 2);
      return band * (Math.sin(north * RADIANS) - Math.sin(south * RADIANS));
    });
  }

  /** A grid of equal steps in both directions. Throws RangeError where the step (degrees) does not divide 180. */
  static ofResolution(degrees: number): Grid {
    const intervals = Math.round(180 / degrees);
    if (!(degrees > 0) || Math.abs(intervals * degrees - 180) > 1e-9 * 180) {
      throw new RangeError(`resolution must divide 180 degrees evenly, ${degrees} does not`);
    }
    return new Grid(intervals + 1, 2 * intervals);
  }

  /** The area integral of a row-major field, in the field's unit times square metres. */
  integrate(field: Float32Array): number {
    const { rows, columns, pointArea } = this;
    let total = 0;
    for (let j = 0; j < rows; j++) {
      let row = 0;
      for (let i = 0; i < columns; i++) row += field[j * columns + i] as number;
      total += row * (pointArea[j] as number);
    }
    return total;
  }

  /** Kilometres along the great circle between two points, in degrees. */
  static distanceKm(
    latitude: number,
    longitude: number,
    otherLatitude: number,
    otherLongitude: number,
  ): number {
    const halfHeight = Math.sin(((otherLatitude - latitude) * RADIANS) / 2);
    const halfWidth = Math.sin(((otherLongitude - longitude) * RADIANS) / 2);
    const chord =
      halfHeight ** 2 + Math.cos(latitude * RADIANS) * Math.cos(otherLatitude * RADIANS) * halfWidth ** 2;
    return (2 * EARTH_RADIUS * Math.asin(Math.min(1, Math.sqrt(chord)))) / 1000;
  }
}
