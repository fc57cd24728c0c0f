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
  // Of a column alone the same comes out as of a row alone, sooner.
  differ(numbers, columns === 1 ? count : columns);
  let length = 0;
  let word = 0;
  let filled = 0;
  for (let from = 0; from < count; from += BLOCK) {
    const to = Math.min(from + BLOCK, count);
    let all = 0;
    for (let i = from; i < to; i++) all |= numbers[i];
    const width = 32 - Math.clz32(all);
    word |= width << filled;
    filled += WIDTH_BITS;
    if (filled >= 32) {
      words[length++] = word;
      filled -= 32;
      word = width >>> (WIDTH_BITS - filled);
    }
    if (width === 0) continue;
    let i = from;
    // Two at once, where they fit into a word. Whether a word is full follows no rule, so there is no branch that depends on it.
    if (width <= 16) {
      for (; i < to - 1; i += 2) {
        const pair = numbers[i] | (numbers[i + 1] << width);
        const now = word | (pair << filled);
        words[length] = now;
        const rest = (pair >>> 1) >>> (31 - filled);
        filled += 2 * width;
        const full = filled >>> 5;
        word = (now & (full - 1)) | (rest & -full);
        length += full;
        filled &= 31;
      }
    }
    for (; i < to; i++) {
      const value = numbers[i];
      const now = word | (value << filled);
      words[length] = now;
      const rest = (value >>> 1) >>> (31 - filled);
      filled += width;
      const full = filled >>> 5;
      word = (now & (full - 1)) | (rest & -full);
      length += full;
      filled &= 31;
    }
  }
  if (filled > 0) words[length++] = word;
  return length;
}

/** For the words of most grids: who unpacks many small ones allocates nothing for them. */
const room = new Uint32Array(8192);

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
  // With a word behind the last one, whatever it is, two can be read wherever a number begins.
  const read = words.length < room.length ? room : new Uint32Array(words.length + 1);
  read.set(words);
  const numbers = new Int32Array(count);
  let at = 0;
  for (let from = 0; from < count; from += BLOCK) {
    const to = Math.min(from + BLOCK, count);
    if (at + WIDTH_BITS > bits) return undefined;
    const width = bitsAt(read, at) & ((1 << WIDTH_BITS) - 1);
    at += WIDTH_BITS;
    if (width > 32 || at + width * (to - from) > bits) return undefined;
    if (width === 0) continue;
    const low = -1 >>> (32 - width);
    let i = from;
    if (width <= 16) {
      for (; i < to - 1; i += 2) {
        const pair = bitsAt(read, at);
        numbers[i] = pair & low;
        numbers[i + 1] = (pair >>> width) & low;
        at += 2 * width;
      }
    }
    for (; i < to; i++) {
      numbers[i] = bitsAt(read, at) & low;
      at += width;
    }
  }
  if (Math.ceil(at / 32) !== words.length) return undefined;
  sum(numbers, columns === 1 ? count : columns);
  return new Float32Array(numbers.buffer);
}

/**
 * @param {Uint32Array} words
 * @param {number} at a bit that is not in the last of them
 * @returns {number} 32 bits from there on
 */
function bitsAt(words, at) {
  const first = at >>> 5;
  const shift = at & 31;
  return (words[first] >>> shift) | ((words[first + 1] << 1) << (31 - shift));
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
 * Of each number, how it differs from the line through the two above it; of these differences, how each differs from the line
 * through the two west of it. Small ones of either sign are small then: 0, -1, 1, -2 stand as 0, 1, 2, 3.
 *
 * @param {Int32Array} numbers
 * @param {number} columns
 */
function differ(numbers, columns) {
  // From below: each row is made of two above it. What is not there counts as zeros, and as no slope.
  for (let row = numbers.length - columns; row >= 0; row -= columns) {
    const above = row >= columns ? columns : 0;
    const further = row >= 2 * columns ? columns : 0;
    const hasAbove = above === 0 ? 0 : -1;
    const hasFurther = further === 0 ? 0 : -1;
    let last = 0;
    let slope = 0;
    for (let i = row; i < row + columns; i++) {
      const up = numbers[i - above];
      const down = (numbers[i] - (up & hasAbove) - ((up - numbers[i - above - further]) & hasFurther)) | 0;
      const rise = (down - last) | 0;
      const value = (rise - slope) | 0;
      numbers[i] = (value << 1) ^ (value >> 31);
      last = down;
      slope = i === row ? 0 : rise;
    }
  }
}

/**
 * Undoes `differ`, and the order of the bits.
 *
 * @param {Int32Array} numbers
 * @param {number} columns
 */
function sum(numbers, columns) {
  const count = numbers.length;
  /** Up to here they are bits again: rows that no other is made of any more. */
  let done = 0;
  for (let row = 0; row < count; row += columns) {
    const rowsAbove = Math.min(row / columns, 2);
    let last = 0;
    let slope = 0;
    for (let i = row, up = row - columns; i < row + columns; i++, up++) {
      const value = numbers[i];
      const rise = (((value >>> 1) ^ -(value & 1)) + slope) | 0;
      last = (last + rise) | 0;
      slope = i === row ? 0 : rise;
      if (rowsAbove === 2) {
        const further = numbers[done];
        numbers[i] = ((((numbers[up] << 1) - further) | 0) + last) | 0;
        numbers[done++] = inOrder(further);
      } else numbers[i] = rowsAbove === 0 ? last : (numbers[up] + last) | 0;
    }
  }
  for (; done < count; done++) numbers[done] = inOrder(numbers[done]);
}
