/**
 * Twelve monthly mean winds on a latitude-longitude grid, in m/s: row 0 at 90 north, the last row at 90
 * south, column 0 at Greenwich, equal steps. `eastward` and `northward` are [12][rows][columns], month 0 is
 * January.
 */
export interface MonthlyWinds {
  readonly rows: number;
  readonly columns: number;
  readonly eastward: Float32Array;
  readonly northward: Float32Array;
}

/** Throws RangeError, naming the cause, where winds have the wrong size or a value that is no wind. */
export function checkWinds(winds: MonthlyWinds): void {
  const size = 12 * winds.rows * winds.columns;
  for (const name of ["eastward", "northward"] as const) {
    const values = winds[name];
    if (values.length !== size) {
      throw new RangeError(
        `${name} winds need 12 x ${winds.rows} x ${winds.columns} values, not ${values.length}`,
      );
    }
    const bad = values.findIndex(value => !(Math.abs(value) < 200));
    if (bad >= 0) throw new RangeError(`${name} wind ${bad} is ${values[bad]} m/s`);
  }
}
