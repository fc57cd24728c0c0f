/*
 * Sums of lists, in an order that is the same wherever a modulator runs, and that WebAssembly adds up two numbers at a time in: the
 * element i belongs to the partial sum i mod 8.
 */

/**
 * The sum of a list's numbers, each as float64; 0 of none. Of the partial sums p0 to p7 it is
 * ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)), so it may differ from that of a plain loop in its last bits.
 *
 * @throws TypeError where one of them is no number
 */
export function sum(list: ArrayLike<number>): number {
  let p0 = 0;
  let p1 = 0;
  let p2 = 0;
  let p3 = 0;
  let p4 = 0;
  let p5 = 0;
  let p6 = 0;
  let p7 = 0;
  const { length } = list;
  const whole = length - (length % 8);
  let i = 0;
  for (; i < whole; i += 8) {
    p0 += list[i] as number;
    p1 += list[i + 1] as number;
    p2 += list[i + 2] as number;
    p3 += list[i + 3] as number;
    p4 += list[i + 4] as number;
    p5 += list[i + 5] as number;
    p6 += list[i + 6] as number;
    p7 += list[i + 7] as number;
  }
  if (i < length) p0 += list[i] as number;
  if (i + 1 < length) p1 += list[i + 1] as number;
  if (i + 2 < length) p2 += list[i + 2] as number;
  if (i + 3 < length) p3 += list[i + 3] as number;
  if (i + 4 < length) p4 += list[i + 4] as number;
  if (i + 5 < length) p5 += list[i + 5] as number;
  if (i + 6 < length) p6 += list[i + 6] as number;
  const all: unknown = p0 + p4 + (p2 + p6) + (p1 + p5 + (p3 + p7));
  if (typeof all !== "number") throw new TypeError("of numbers alone there is a sum");
  return all;
}

/** `sum` of a list's numbers by how many there are; NaN of none. @throws TypeError where one of them is no number */
export function mean(list: ArrayLike<number>): number {
  return sum(list) / list.length;
}
