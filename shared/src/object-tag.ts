import { sha256 } from "@noble/hashes/sha2.js";

/**
 * Names a shared object to those who see events that were made with it, without telling them its id, which would let them change it:
 * the first 8 bytes, big-endian, of its SHA-256.
 */
export function objectTag(id: string): bigint {
  return new DataView(sha256(new TextEncoder().encode(id)).buffer).getBigUint64(0);
}
