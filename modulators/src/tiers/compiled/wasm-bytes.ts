/*
 * Parts of the binary form of WebAssembly: numbers, names, sections.
 */

export function section(id: number, items: readonly (readonly number[])[]): number[] {
  const body = unsigned(items.length);
  for (const item of items) append(body, item);
  return [id, ...unsigned(body.length), ...body];
}

/** A call with a long list as its arguments would run out of stack. */
export function append(bytes: number[], more: readonly number[]): void {
  for (const byte of more) bytes.push(byte);
}

export function text(value: string): number[] {
  const bytes = Array.from(value, character => character.charCodeAt(0));
  return [...unsigned(bytes.length), ...bytes];
}

export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return bytes;
}

export function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const byte = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (byte & 0x40) === 0) || (rest === -1 && (byte & 0x40) !== 0)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

export function signed64(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    if ((rest === 0n && (byte & 0x40) === 0) || (rest === -1n && (byte & 0x40) !== 0))
      return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

const number = new Float64Array(1);
const numberBytes = new Uint8Array(number.buffer);

export function float64(value: number): Uint8Array {
  number[0] = value;
  return numberBytes;
}
