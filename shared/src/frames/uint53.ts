/*
 * Counts are u64 on the wire and numbers in programs: exact up to 2^53, and many times as fast as BigInts.
 */

export function getUint53(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true);
}

export function setUint53(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 0x1_0000_0000, true);
  view.setUint32(at + 4, Math.floor(value / 0x1_0000_0000), true);
}

/** Is what lies there beyond 2^53? */
export function isBeyondUint53(view: DataView, at: number): boolean {
  return view.getUint32(at + 4, true) > 0x1fffff;
}
