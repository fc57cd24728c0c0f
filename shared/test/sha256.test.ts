import { createHash } from "node:crypto";
import { sha256 } from "@jecho/shared/internal";
import { expect, test } from "vitest";

test("TYPE-1: the hash is the SHA-256 of Node, at every length around a block and of much", () => {
  for (const length of [...Array(200).keys(), 4096, 300_001]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * i * 31 + length) >>> 3);
    expect(sha256(bytes)).toEqual(new Uint8Array(createHash("sha256").update(bytes).digest()));
  }
});
