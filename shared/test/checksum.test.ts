import { crc32 as reference } from "node:zlib";
import { JechoError } from "@jecho/shared";
import { checksumOf, crc32, Sealer, withoutChecksum } from "@jecho/shared/internal";
import { expect, test } from "vitest";

/** Bytes of which each message has other ones, the same in each run. */
function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * i * 31 + length) >>> 3);
}

test("WIRE-9: the checksum is the CRC-32 of zlib, at every length, also of bytes that come in parts", () => {
  for (const length of [...Array(70).keys(), 1000, 65_537]) {
    const bytes = bytesOf(length);
    expect(crc32(bytes)).toBe(reference(bytes));
    const cut = length >> 1;
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(reference(bytes));
  }
});

test("WIRE-9: what is sealed is taken, and not with any one bit changed or any byte missing", () => {
  const sealer = new Sealer();
  for (const length of [0, 8, 100, 10_000]) {
    const bytes = bytesOf(length);
    const sealed = sealer.seal(bytes).slice();
    expect(sealed).toEqual(Uint8Array.from([...bytes, ...checksumOf([bytes])]));
    expect(withoutChecksum(sealed)).toEqual(bytes);
    for (let bit = 0; bit < Math.min(sealed.length * 8, 2000); bit++) {
      const other = sealed.slice();
      other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(codeOf(other)).toBe("MESSAGE_DAMAGED");
    }
    expect(codeOf(sealed.subarray(0, -1))).toBe("MESSAGE_DAMAGED");
  }
});

function codeOf(message: Uint8Array): string {
  try {
    withoutChecksum(message);
    return "";
  } catch (error) {
    return JechoError.from(error).code;
  }
}
