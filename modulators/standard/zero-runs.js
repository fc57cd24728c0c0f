/*
 * Bytes in which zeros are many, in fewer bytes: a control byte c below 128 says that c + 1 bytes follow as they are, one
 * from 128 on that c - 127 zeros do.
 */

const MOST = 128;

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array}
 */
export function packZeros(bytes) {
  // At worst, one control byte for each 128.
  const packed = new Uint8Array(bytes.length + Math.ceil(bytes.length / MOST) + 1);
  let to = 0;
  let at = 0;
  while (at < bytes.length) {
    let end = at;
    if (bytes[at] === 0) {
      while (end < bytes.length && bytes[end] === 0 && end - at < MOST) end++;
      packed[to++] = 127 + end - at;
      at = end;
      continue;
    }
    // A single zero between others is not worth a control byte.
    while (end < bytes.length && end - at < MOST && !(bytes[end] === 0 && bytes[end + 1] === 0)) end++;
    packed[to++] = end - at - 1;
    while (at < end) packed[to++] = bytes[at++];
  }
  return packed.subarray(0, to);
}

/**
 * @param {Uint8Array} packed
 * @param {number} length of what was packed
 * @returns {Uint8Array}
 * @throws {RangeError} where it is not what `packZeros` makes of so many bytes
 */
export function unpackZeros(packed, length) {
  const bytes = new Uint8Array(length);
  let to = 0;
  let at = 0;
  while (at < packed.length) {
    const control = packed[at++];
    const count = control < MOST ? control + 1 : control - 127;
    if (to + count > length || (control < MOST && at + count > packed.length))
      throw new RangeError("not packed bytes");
    if (control < MOST) {
      for (let i = 0; i < count; i++) bytes[to + i] = packed[at + i];
      at += count;
    }
    to += count;
  }
  if (to !== length) throw new RangeError("not packed bytes");
  return bytes;
}
