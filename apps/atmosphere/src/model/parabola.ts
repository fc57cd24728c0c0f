// The monotone parabola of PPM: Colella and Woodward 1984, Journal of Computational Physics 54, 174-201, equations
// 1.6 to 1.12. Its limits are what makes the transport free of new extrema.

/** Half of a cell's slope out of three means: central where it is monotone, and limited as van Leer 1977 does. */
export function halfSlope(before: number, here: number, after: number): number {
  const rise = after - here;
  const climb = here - before;
  if (rise * climb <= 0) return 0;
  const least = Math.min(Math.abs(rise + climb) / 4, Math.abs(rise), Math.abs(climb));
  return rise > 0 ? least : -least;
}

/** The value at the edge between two cells; it never leaves the range of their means. */
export function edgeValue(before: number, after: number, slopeBefore: number, slopeAfter: number): number {
  return (before + after) / 2 + (slopeBefore - slopeAfter) / 3;
}

/** How far a limited parabola's one end lies from its mean, given where the two unlimited ends lie. */
export function limitedEnd(end: number, opposite: number): number {
  if (end * opposite >= 0) return 0;
  return Math.abs(end) > 2 * Math.abs(opposite) ? -2 * opposite : end;
}

/** The mean of a parabola over the given part (0..1) of the cell next to one of its ends. */
export function meanNextTo(end: number, opposite: number, mean: number, part: number): number {
  return mean + (1 - part) * (end - part * (end + opposite));
}
