/** One twelfth of a year of 365.25 days. */
export const SECONDS_PER_MONTH = (365.25 * 86400) / 12;

const NAMES = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

/**
 * The calendar month's name for a month of the model (0 = mid January, 0.5 = end of January, 11.9 = mid
 * December); values outside 0..12 are taken around the year. Throws RangeError where it is not finite.
 */
export function monthLabel(month: number): string {
  if (!Number.isFinite(month)) throw new RangeError(`month must be a finite number, not ${month}`);
  return NAMES[Math.floor(wrapMonth(month + 0.5))] as string;
}

/** The same time of the year in [0, 12). */
export function wrapMonth(month: number): number {
  const wrapped = month - 12 * Math.floor(month / 12);
  return wrapped >= 12 ? 0 : wrapped;
}

/** The two monthly means between which a month lies, and the weight of the later one. */
export function blendMonths(month: number): { earlier: number; later: number; weight: number } {
  const wrapped = wrapMonth(month);
  const earlier = Math.floor(wrapped);
  return { earlier, later: (earlier + 1) % 12, weight: wrapped - earlier };
}

/** How deep in northern winter a month is: 1 in mid January, 0 in mid July, a cosine between. */
export function northernWinter(month: number): number {
  return (1 + Math.cos((2 * Math.PI * month) / 12)) / 2;
}
