/*
 * A grid of float32 in fewer bits, exactly: whatever the bits are, the same come out again.
 *
 * Bits are taken as integers in the order of the numbers that they stand for. Of those, differences of second order are
 * formed, downwards and eastwards, which are small where the field is smooth; a window's first two rows and columns have those of
 * lower order. Each eight of them, the last ones perhaps fewer, follow six bits that say how many bits each takes. The bits fill
 * words from the lowest one on.
 *
 * As many words as there are numbers are the numbers themselves: packing did not make them less.
 */

const BLOCK = 8;
const WIDTH_BITS = 6;

/**
 * @param {number} count of numbers
 * @returns {number} words that the differences take at most
 */
export function mostWords(count) {
  return count + Math.ceil((Math.ceil(count / BLOCK) * WIDTH_BITS) / 32);
}

/**
 * @param {Int32Array} numbers a float32's bits each, row by row; are written over
 * @param {number} columns
 * @param {Uint32Array} words are written to; `mostWords` of them
 * @returns {number} how many there are, perhaps more than numbers: then these had better go as they are
 */
export function packFloats(numbers, columns, words) {
  const count = numbers.length;
  for (let i = 0; i < count; i++) numbers[i] = inOrder(numbers[i]);
  differ(numbers, 0, count, columns);
  for (let row = 0; row < count; row += columns) differ(numbers, row, row + columns, 1);
  let length = 0;
  let word = 0;
  let filled = 0;
  for (let from = 0; from < count; from += BLOCK) {
    const to = Math.min(from + BLOCK, count);
    let all = 0;
    for (let i = from; i < to; i++) {
      // Small numbers of either sign as small numbers: 0, -1, 1, -2 as 0, 1, 2, 3.
      const value = (numbers[i] << 1) ^ (numbers[i] >> 31);
      numbers[i] = value;
      all |= value;
    }
    const width = 32 - Math.clz32(all);
    word |= width << filled;
    filled += WIDTH_BITS;
    if (filled >= 32) {
      words[length++] = word;
      filled -= 32;
      word = width >>> (WIDTH_BITS - filled);
    }
    if (width === 0) continue;
    for (let i = from; i < to; i++) {
      const value = numbers[i];
      word |= value << filled;
      filled += width;
      if (filled < 32) continue;
      words[length++] = word;
      filled -= 32;
      word = filled === 0 ? 0 : value >>> (width - filled);
    }
  }
  if (filled > 0) words[length++] = word;
  return length;
}

/**
 * @param {Uint32Array} words
 * @param {number} rows
 * @param {number} columns
 * @returns {Float32Array | undefined} undefined where these are not the words of such a grid
 */
export function unpackFloats(words, rows, columns) {
  const count = rows * columns;
  if (words.length === count) return new Float32Array(words.slice().buffer);
  // Not more room than the words may fill.
  const bits = 32 * words.length;
  if (words.length > count || Math.ceil(count / BLOCK) * WIDTH_BITS > bits) return undefined;
  const numbers = new Int32Array(count);
  let at = 0;
  for (let from = 0; from < count; from += BLOCK) {
    const to = Math.min(from + BLOCK, count);
    if (at + WIDTH_BITS > bits) return undefined;
    const width = bitsAt(words, at, WIDTH_BITS);
    at += WIDTH_BITS;
    if (width > 32 || at + width * (to - from) > bits) return undefined;
    if (width === 0) continue;
    for (let i = from; i < to; i++) {
      const value = bitsAt(words, at, width);
      numbers[i] = (value >>> 1) ^ -(value & 1);
      at += width;
    }
  }
  if (Math.ceil(at / 32) !== words.length) return undefined;
  for (let row = 0; row < count; row += columns) sum(numbers, row, row + columns, 1);
  sum(numbers, 0, count, columns);
  for (let i = 0; i < count; i++) numbers[i] = inOrder(numbers[i]);
  return new Float32Array(numbers.buffer);
}

/**
 * @param {Uint32Array} words
 * @param {number} at the first bit
 * @param {number} width 1 to 32; all of them are there
 */
function bitsAt(words, at, width) {
  const first = at >>> 5;
  const shift = at & 31;
  let value = words[first] >>> shift;
  if (shift + width > 32) value |= words[first + 1] << (32 - shift);
  return value & (-1 >>> (32 - width));
}

/**
 * A negative float's bits grow as it falls. Its own inverse.
 *
 * @param {number} bits
 */
function inOrder(bits) {
  return bits ^ ((bits >> 31) & 0x7fff_ffff);
}

/**
 * Of each number, how it differs from the line through the two before it, each so many places from the next.
 *
 * @param {Int32Array} numbers
 * @param {number} from
 * @param {number} to
 * @param {number} places
 */
function differ(numbers, from, to, places) {
  const third = from + 2 * places;
  const second = from + places;
  let i = to - 1;
  for (; i >= third; i--) numbers[i] = (numbers[i] - 2 * numbers[i - places] + numbers[i - 2 * places]) | 0;
  for (; i >= second; i--) numbers[i] = (numbers[i] - numbers[i - places]) | 0;
}

/**
 * Undoes `differ`.
 *
 * @param {Int32Array} numbers
 * @param {number} from
 * @param {number} to
 * @param {number} places
 */
function sum(numbers, from, to, places) {
  const third = Math.min(from + 2 * places, to);
  let i = from + places;
  for (; i < third; i++) numbers[i] = (numbers[i] + numbers[i - places]) | 0;
  for (; i < to; i++) numbers[i] = (numbers[i] + 2 * numbers[i - places] - numbers[i - 2 * places]) | 0;
}
