import { JechoError } from "@jecho/shared";
import { ed25519 } from "@noble/curves/ed25519.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { KEY } from "./allowed.ts";
import type { Modulator } from "./modulator.ts";

/** A pair of keys of Ed25519, in hexadecimal, with which modulators are signed. */
export interface SigningKeys {
  /** The key for `connect(address, { modulators: { allow: { signedBy: [publicKey] } } })`. */
  readonly publicKey: string;
  /** Never leaves whoever signs. */
  readonly secretKey: string;
}

/** The last line of a text that is signed. */
const SIGNED = /\n\/\/# signed=([0-9a-f]{128})$/;
/** Prefix of signed texts: nothing else that is signed can be taken for a modulator. */
const PURPOSE = "jecho modulator\n";

/** A new pair of keys for signing modulators. */
export function signingKeys(): SigningKeys {
  const { publicKey, secretKey } = ed25519.keygen();
  return { publicKey: bytesToHex(publicKey), secretKey: bytesToHex(secretKey) };
}

/**
 * Signs a modulator's text. The signature is the last line of the modulator that is returned.
 *
 * @throws JechoError `ARGUMENT_INVALID` where the secret key is none
 */
export function signModulator(modulator: Modulator, secretKey: string): Modulator {
  if (!KEY.test(secretKey))
    throw new JechoError("ARGUMENT_INVALID", "a key of Ed25519 is 64 digits in hexadecimal");
  const signature = ed25519.sign(messageOf(modulator.source), hexToBytes(secretKey));
  return { ...modulator, source: `${modulator.source}\n//# signed=${bytesToHex(signature)}` };
}

/** Whether the holder of one of these public keys has signed the text. */
export function isSigned(source: string, publicKeys: readonly string[]): boolean {
  const line = SIGNED.exec(source);
  if (line === null) return false;
  const signature = line[1] as string;
  const message = messageOf(source.slice(0, line.index));
  return publicKeys.some(key => ed25519.verify(hexToBytes(signature), message, hexToBytes(key)));
}

function messageOf(text: string): Uint8Array {
  return utf8ToBytes(PURPOSE + text);
}
