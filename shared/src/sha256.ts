/*
 * SHA-256 (FIPS 180-4). The browser's own answers later, and only pages of secure origins have it; here a type has its token when it
 * is made. Pages load it, so it is small.
 */

const PRIMES: number[] = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every(prime => n % prime !== 0)) PRIMES.push(n);

/** The first 32 bits of a number's fractional part. */
const fraction = (of: number): number => ((of % 1) * 2 ** 32) | 0;
const ROUNDS = Int32Array.from(PRIMES, prime => fraction(Math.cbrt(prime)));
const FIRST = Int32Array.from(PRIMES.slice(0, 8), prime => fraction(Math.sqrt(prime)));

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

type Eight = [number, number, number, number, number, number, number, number];

/** The 32 bytes of a message's SHA-256. */
export function sha256(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = message;
  // Behind the message come one bit, and, at the end of a block, its length in bits.
  const padded = new Uint8Array((length + 72) & ~63);
  padded.set(message);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, length / 2 ** 29);
  view.setUint32(padded.length - 4, length << 3);
  const hash = FIRST.slice();
  const words = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15] as number;
      const late = words[i - 2] as number;
      const mixedEarly = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const mixedLate = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[i] = ((words[i - 16] as number) + mixedEarly + (words[i - 7] as number) + mixedLate) | 0;
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as Eight;
    for (let i = 0; i < 64; i++) {
      const mixed = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g));
      const first = (h + mixed + (ROUNDS[i] as number) + (words[i] as number)) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    const mixed = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i++) hash[i] = ((hash[i] as number) + (mixed[i] as number)) | 0;
  }
  const bytes = new Uint8Array(32);
  const out = new DataView(bytes.buffer);
  hash.forEach((word, i) => {
    out.setInt32(4 * i, word);
  });
  return bytes;
}
