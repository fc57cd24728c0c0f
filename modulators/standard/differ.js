/*
 * The difference between two pieces of bytes, as bytes that are zero where they are the same. The four bytes of each word lie
 * apart, first all first ones, then all second ones: of numbers that changed a little the high bytes are the same, and so
 * come together as long runs of zeros.
 */

/**
 * @param {Uint8Array} bytes
 * @param {Uint8Array} last where it is shorter, it counts as zeros
 * @returns {Uint8Array}
 */
export function differ(bytes, last) {
  const { length } = bytes;
  const difference = new Uint8Array(length);
  const shared = Math.min(length, last.length);
  let to = 0;
  for (let plane = 0; plane < 4; plane++) {
    let at = plane;
    for (; at < shared; at += 4) difference[to++] = bytes[at] ^ last[at];
    for (; at < length; at += 4) difference[to++] = bytes[at];
  }
  return difference;
}

/**
 * What `differ` took.
 *
 * @param {Uint8Array} difference
 * @param {Uint8Array} last
 * @returns {Uint8Array}
 */
export function undiffer(difference, last) {
  const { length } = difference;
  const bytes = new Uint8Array(length);
  let from = 0;
  for (let plane = 0; plane < 4; plane++) {
    for (let at = plane; at < length; at += 4)
      bytes[at] = difference[from++] ^ (at < last.length ? last[at] : 0);
  }
  return bytes;
}
