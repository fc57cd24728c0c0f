// The sandboxes have no TextEncoder; below these lengths plain code is also faster than crossing into the native one.
const SHORT_TO_WRITE = 48;
const SHORT_TO_READ = 24;
/**
 * Text of up to so many characters, or bytes, is plain code's in control messages: what crosses into the native one costs several times as
 * much when that has to come from memory.
 */
export const PLAIN_TEXT = 1024;
const native =
  typeof TextEncoder === "function" && typeof TextDecoder === "function"
    ? { encoder: new TextEncoder(), decoder: new TextDecoder("utf-8", { ignoreBOM: true }) }
    : undefined;

const { fromCharCode, fromCodePoint } = String;

function isShared(memory: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer === "function" && memory instanceof SharedArrayBuffer;
}

/** Bytes that `text` can take at the most. */
export function utf8Bound(text: string): number {
  return text.length * 3;
}

/** Writes `text` at `at` and returns the bytes written. Lone surrogates become U+FFFD. The room must be there. */
export function writeUtf8(target: Uint8Array, at: number, text: string): number {
  if (native !== undefined && text.length > SHORT_TO_WRITE) {
    // Browsers let no memory that threads share be written to by this.
    if (isShared(target.buffer)) {
      const bytes = native.encoder.encode(text);
      target.set(bytes, at);
      return bytes.byteLength;
    }
    return native.encoder.encodeInto(text, target.subarray(at)).written;
  }
  let p = at;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      target[p++] = code;
      continue;
    }
    if (code < 0x800) {
      target[p++] = 0xc0 | (code >> 6);
      target[p++] = 0x80 | (code & 63);
      continue;
    }
    if (code >= 0xd800 && code < 0xe000) {
      const low = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
      if (code < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i++;
        target[p++] = 0xf0 | (code >> 18);
        target[p++] = 0x80 | ((code >> 12) & 63);
        target[p++] = 0x80 | ((code >> 6) & 63);
        target[p++] = 0x80 | (code & 63);
        continue;
      }
      code = 0xfffd;
    }
    target[p++] = 0xe0 | (code >> 12);
    target[p++] = 0x80 | ((code >> 6) & 63);
    target[p++] = 0x80 | (code & 63);
  }
  return p - at;
}

/** Writes `text` at `at` if it is nothing but ASCII. @returns false where it is not, and what lies there is of no use */
export function writeAscii(target: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return false;
    target[at + i] = code;
  }
  return true;
}

/**
 * Reads `length` bytes at `at` as text. Broken sequences become U+FFFD.
 *
 * @param plain up to so many bytes plain code does it
 */
export function readUtf8(source: Uint8Array, at: number, length: number, plain = SHORT_TO_READ): string {
  if (native !== undefined && length > plain) {
    return native.decoder.decode(source.subarray(at, at + length));
  }
  let text = "";
  let p = at;
  const end = at + length;
  // Texts are mostly ASCII, and eight characters at once make fewer strings.
  for (; p + 4 <= end; p += 4) {
    const a = source[p] as number;
    const b = source[p + 1] as number;
    const c = source[p + 2] as number;
    const d = source[p + 3] as number;
    if ((a | b | c | d) >= 0x80) break;
    if (p + 8 <= end) {
      const e = source[p + 4] as number;
      const f = source[p + 5] as number;
      const g = source[p + 6] as number;
      const h = source[p + 7] as number;
      if ((e | f | g | h) < 0x80) {
        text += fromCharCode(a, b, c, d, e, f, g, h);
        p += 4;
        continue;
      }
    }
    text += fromCharCode(a, b, c, d);
  }
  while (p < end) {
    const lead = source[p++] as number;
    if (lead < 0x80) {
      text += fromCharCode(lead);
      continue;
    }
    const more =
      lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc2 && lead < 0xe0 ? 1 : 0;
    let code = more === 0 ? 0xfffd : lead & (0x3f >> more);
    let taken = 0;
    while (taken < more && p < end && ((source[p] as number) & 0xc0) === 0x80) {
      code = (code << 6) | ((source[p++] as number) & 63);
      taken++;
    }
    const least = more === 3 ? 0x10000 : more === 2 ? 0x800 : 0;
    const broken = taken < more || code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    text += fromCodePoint(broken ? 0xfffd : code);
  }
  return text;
}
