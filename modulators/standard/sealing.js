import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";

/* What the two ends of an encrypted channel agree on. */

/** "JEcho sealed events 1", as bytes: there is no TextEncoder in a sandbox. */
const PURPOSE = Uint8Array.from("JEcho sealed events 1", character => character.charCodeAt(0));

/**
 * @param {unknown} hex
 * @returns {Uint8Array | undefined} undefined where that is no hexadecimal text
 */
export function bytesOfHex(hex) {
  if (typeof hex !== "string" || !/^(?:[0-9a-f]{2})+$/i.test(hex)) return undefined;
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}

/**
 * @param {Uint8Array} secret what X25519 gave
 * @param {Uint8Array} sender public key of the sandbox
 * @param {Uint8Array} receiver public key of the consumer
 */
export function sharedKey(secret, sender, receiver) {
  const salt = new Uint8Array(64);
  salt.set(sender);
  salt.set(receiver, 32);
  return hkdf(sha256, secret, salt, PURPOSE, 32);
}

/**
 * 12 bytes that are another for each number. A key belongs to one sandbox, so counting never repeats.
 *
 * @param {bigint} n
 */
export function nonceOf(n) {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(4, n);
  return nonce;
}
