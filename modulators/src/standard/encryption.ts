import { JechoError } from "@jecho/shared";
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { bytesOfHex, nonceOf, sharedKey } from "../../standard/sealing.js";
import type { Demodulator, EventSource, HandlerPair } from "../authoring/modulator.ts";
import { ENCRYPT_SOURCE } from "../generated/standard/encrypt.ts";
import { keepNewest } from "../running/newest-entries.ts";

/** Keys for X25519, in hexadecimal. */
export interface KeyPair {
  /** Travels to the producers, as a parameter of the modulator. */
  readonly publicKey: string;
  /** Never leaves the consumer. */
  readonly secretKey: string;
}

/** A new pair of keys. */
export function keyPair(): KeyPair {
  const secret = crypto.getRandomValues(new Uint8Array(32));
  return { publicKey: bytesToHex(x25519.getPublicKey(secret)), secretKey: bytesToHex(secret) };
}

/**
 * Every event, so that only the holder of the secret key can read it: X25519 with a key of each sandbox's own,
 * HKDF-SHA256, ChaCha20-Poly1305. What is hidden is the content; sizes and times are not, nor does it say who the producer is.
 *
 * @throws JechoError `ARGUMENT_INVALID` where the secret key is none
 */
export function encrypt({ publicKey, secretKey }: KeyPair): HandlerPair {
  return {
    modulator: { source: ENCRYPT_SOURCE, parameters: { publicKey } },
    demodulator: new Unsealer(publicKey, secretKey),
  };
}

interface Sealed {
  /** The sandbox's public key. */
  readonly sender: Uint8Array;
  readonly n: bigint;
  readonly token: bigint;
  readonly sealed: Uint8Array;
}

/** Senders whose keys are kept, so that each is computed once. */
const MOST_SENDERS = 64;

class Unsealer implements Demodulator<Sealed> {
  readonly #receiver: Uint8Array;
  readonly #secret: Uint8Array;
  readonly #keys = new Map<string, Uint8Array>();

  constructor(publicKey: string, secretKey: string) {
    const [receiver, secret] = [bytesOfHex(publicKey), bytesOfHex(secretKey)];
    if (receiver?.length !== 32 || secret?.length !== 32)
      throw new JechoError("ARGUMENT_INVALID", "a key of X25519 is 32 bytes in hexadecimal");
    this.#receiver = receiver;
    this.#secret = secret;
  }

  push({ sender, n, token, sealed }: Sealed, emit: (event: unknown) => void, source: EventSource): void {
    let bytes: Uint8Array;
    try {
      bytes = chacha20poly1305(this.#keyOf(sender), nonceOf(n), nonceOf(token)).decrypt(sealed);
    } catch {
      throw new JechoError("EVENT_INVALID", "a sealed event that was made for another key, or was changed");
    }
    emit(source.decode(token, bytes));
  }

  #keyOf(sender: Uint8Array): Uint8Array {
    const name = bytesToHex(sender);
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = sharedKey(x25519.getSharedSecret(this.#secret, sender), sender, this.#receiver);
    keepNewest(this.#keys, name, key, MOST_SENDERS);
    return key;
  }
}
