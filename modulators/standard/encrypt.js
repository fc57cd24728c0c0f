import { bytesOf, FifoModulator, typeToken } from "jecho:moe";
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { bytesOfHex, nonceOf, sharedKey } from "./sealing.js";

/** Events that only who has the secret key can read: sealed at the producer, under a key that no other sandbox has. */
export default class Encrypt extends FifoModulator {
  static needs = ["entropy"];
  static output = {
    name: "Sealed",
    description: { sender: "uint8[]", n: "uint64", token: "uint64", sealed: "uint8[]" },
  };

  #n = 0n;
  #sender;
  #key;

  /**
   * @param {any} parameters
   * @param {any} moe
   */
  constructor(parameters, moe) {
    super(parameters, moe);
    const secret = moe.entropy();
    const receiver = bytesOfHex(parameters.publicKey);
    this.#sender = x25519.getPublicKey(secret);
    this.#key = sharedKey(x25519.getSharedSecret(secret, receiver), this.#sender, receiver);
  }

  /** @param {any} parameters */
  static check(parameters) {
    if (bytesOfHex(parameters?.publicKey)?.length !== 32)
      throw new RangeError("publicKey: 32 bytes in hexadecimal are wanted");
  }

  /** @param {object} event */
  enqueue(event) {
    const token = typeToken();
    const n = this.#n++;
    const sealed = chacha20poly1305(this.#key, nonceOf(n), nonceOf(token)).encrypt(bytesOf(event));
    super.enqueue({ sender: this.#sender, n, token, sealed });
  }
}
