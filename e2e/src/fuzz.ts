import { Dice } from "./dice.ts";

/** Numbers that lengths, offsets and counts are set to, where they are not random. */
const ODD = [
  0, 1, 2, 3, 4, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
];
const MOST_CHANGES = 4;

/**
 * Plays one seed after the other: for so many seconds, or as `npm run fuzz` says by `FUZZ_SECONDS`, and from its seed on (`FUZZ_SEED`), or that
 * one alone.
 *
 * @param play what is done with the dice of one seed @returns how many frames, or files, it has tried
 * @throws Error that names the seed that failed
 */
export async function fuzz(
  what: string,
  seconds: number,
  play: (dice: Dice) => number | Promise<number>,
): Promise<void> {
  const { FUZZ_SECONDS, FUZZ_SEED, FUZZ_FROM } = process.env;
  const until = performance.now() + 1000 * Number(FUZZ_SECONDS ?? seconds);
  const first = Number(FUZZ_SEED ?? FUZZ_FROM ?? 1);
  let tried = 0;
  let seed = first;
  do {
    try {
      tried += await play(new Dice(seed));
    } catch (error) {
      throw new Error(`${what}: seed ${seed} fails`, { cause: error });
    }
    seed++;
  } while (FUZZ_SEED === undefined && performance.now() < until);
  if (FUZZ_SECONDS !== undefined || FUZZ_SEED !== undefined)
    process.stdout.write(`fuzz ${what}: ${tried} tried, seeds ${first} to ${seed - 1}\n`);
}

/** A copy in which some things were changed: bits, bytes, numbers where such may lie, its length, the order of its parts. */
export function mutated(dice: Dice, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let changed = new Uint8Array(bytes);
  for (let changes = 1 + dice.below(MOST_CHANGES); changes > 0; changes--) changed = change(dice, changed);
  return changed;
}

function change(dice: Dice, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const { byteLength } = bytes;
  if (byteLength < 16) return joined(bytes, new Uint8Array(8 * (1 + dice.below(4))));
  const view = new DataView(bytes.buffer, bytes.byteOffset, byteLength);
  const at = dice.below(byteLength);
  const part = (): [number, number] => {
    const start = 8 * dice.below(byteLength >> 3);
    return [start, Math.min(byteLength, start + 8 * (1 + dice.below(8)))];
  };
  switch (dice.below(10)) {
    case 0:
      bytes[at] = (bytes[at] as number) ^ (1 << dice.below(8));
      return bytes;
    case 1:
      bytes[at] = dice.below(256);
      return bytes;
    case 2:
    case 3: {
      // Lengths, offsets and counts lie at multiples of four.
      const number = dice.coin ? (dice.of(ODD) as number) : dice.below(2 * byteLength);
      view.setUint32(4 * dice.below(byteLength >> 2), number, true);
      return bytes;
    }
    case 4:
    case 5:
      // And what vtables and counters have, at multiples of two.
      view.setUint16(
        2 * dice.below(byteLength >> 1),
        dice.coin ? (dice.of(ODD) as number) : dice.below(64),
        true,
      );
      return bytes;
    case 6:
      return bytes.slice(0, dice.coin ? at : 8 * dice.below(byteLength >> 3));
    case 7: {
      const [start, end] = part();
      return joined(bytes.subarray(0, start), bytes.subarray(end));
    }
    case 8: {
      const [start, end] = part();
      return joined(bytes.subarray(0, end), bytes.subarray(start));
    }
    default: {
      const [start, end] = part();
      bytes.copyWithin(8 * dice.below(byteLength >> 3), start, end);
      return bytes;
    }
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.byteLength + second.byteLength);
  both.set(first);
  both.set(second, first.byteLength);
  return both;
}
