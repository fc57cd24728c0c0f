import { readFile } from "node:fs/promises";
import { JechoError } from "@jecho/shared";
import { type CryptoKey, importJWK, type JWK } from "jose";

/** Keys for tokens, as RFC 7517 has them. */
export interface JsonWebKeySet {
  /** Each of the kind `oct`, `RSA`, `EC` with the curve P-256, or `OKP` with Ed25519. */
  readonly keys: readonly JWK[];
}

/** The algorithm of each kind of key: the key decides it, never the token. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  oct: "HS256",
  RSA: "RS256",
  "EC P-256": "ES256",
  "OKP Ed25519": "EdDSA",
};

/** Interval at which keys are read again, so that a removed key stops counting. */
const FRESH_MS = 60_000;
/** Least time between two readings for unknown keys, for anybody may send a token that names one. */
const LEAST_MS = 2000;
const FETCH_MS = 5000;
const MOST_CHARACTERS = 1 << 20;
const LEAST_SECRET_BYTES = 32;

interface Key {
  readonly id: string | undefined;
  readonly algorithm: string;
  readonly key: CryptoKey | Uint8Array;
}

/** The keys with which tokens are checked. They are read again from their source, so that they can be exchanged while the gateway runs. */
export class KeySet {
  readonly #source: string | JsonWebKeySet;
  readonly #log: (line: string) => void;
  #keys: readonly Key[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  private constructor(source: string | JsonWebKeySet, log: (line: string) => void) {
    this.#source = source;
    this.#log = log;
  }

  /**
   * @param source the keys themselves, the path of a file, or an https address
   * @throws JechoError `ARGUMENT_INVALID` where there is no usable key
   */
  static async open(source: string | JsonWebKeySet, log: (line: string) => void): Promise<KeySet> {
    const keys = new KeySet(source, log);
    await keys.#read();
    return keys;
  }

  /** @throws Error where there is no such key */
  async find({ kid, alg }: { readonly kid?: string; readonly alg?: string }): Promise<Key["key"]> {
    const find = (): Key | undefined => {
      const able = this.#keys.filter(
        ({ id, algorithm }) => algorithm === alg && (kid === undefined || id === kid),
      );
      return able.length === 1 ? able[0] : undefined;
    };
    const ageMs = performance.now() - this.#readAt;
    if (ageMs > FRESH_MS || (find() === undefined && ageMs > LEAST_MS)) await this.#readAgain();
    const found = find();
    if (found === undefined) throw new Error("the gateway has not the one key that it names");
    return found.key;
  }

  /** Reads the keys again. If that fails, the last ones stay in use. */
  #readAgain(): Promise<void> {
    this.#reading ??= this.#read()
      .catch(({ message }: Error) => {
        this.#readAt = performance.now();
        this.#log(`${message}; those that were read before go on`);
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const source = typeof this.#source === "string" ? this.#source : "keys";
    try {
      const read = typeof this.#source === "string" ? await load(this.#source) : this.#source;
      if (!Array.isArray(read?.keys)) throw new TypeError('a JSON Web Key Set is like {"keys":[…]}');
      const keys = await Promise.all(read.keys.map(key => importKey(key)));
      if (keys.length === 0) throw new TypeError("there are none");
      this.#keys = keys;
      this.#readAt = performance.now();
    } catch (error) {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `the keys for tokens cannot be read (${source}): ${(error as Error).message}`,
      );
    }
  }
}

async function load(source: string): Promise<JsonWebKeySet> {
  const text = /^https?:\/\//.test(source) ? await download(source) : await readFile(source, "utf8");
  return JSON.parse(text) as JsonWebKeySet;
}

async function download(address: string): Promise<string> {
  const { protocol, hostname } = new URL(address);
  if (protocol !== "https:" && !["127.0.0.1", "[::1]", "localhost"].includes(hostname))
    throw new TypeError("keys of another machine come by https alone");
  const response = await fetch(address, { signal: AbortSignal.timeout(FETCH_MS), redirect: "error" });
  if (!response.ok) throw new Error(`the answer is ${response.status}`);
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MOST_CHARACTERS)
      throw new RangeError(`they have more than ${MOST_CHARACTERS} characters`);
  }
  return text;
}

async function importKey(jwk: JWK): Promise<Key> {
  const kind = jwk.crv === undefined ? `${jwk.kty}` : `${jwk.kty} ${jwk.crv}`;
  const algorithm = ALGORITHMS[kind];
  if (algorithm === undefined)
    throw new TypeError(`a key of the kind ${kind} is none of ${Object.keys(ALGORITHMS).join(", ")}`);
  if (jwk.alg !== undefined && jwk.alg !== algorithm && !(algorithm === "EdDSA" && jwk.alg === "Ed25519"))
    throw new TypeError(`a key of the kind ${kind} is for ${algorithm} here, not for ${jwk.alg}`);
  if (jwk.d !== undefined)
    throw new TypeError("a private key is among them: whoever checks tokens needs the public one");
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array && key.byteLength < LEAST_SECRET_BYTES)
    throw new TypeError(`a secret key has ${LEAST_SECRET_BYTES} bytes at least`);
  return { id: jwk.kid, algorithm, key };
}
