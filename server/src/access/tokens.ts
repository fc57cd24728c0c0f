import { JechoError } from "@jecho/shared";
import { jwtVerify } from "jose";
import { type JsonWebKeySet, KeySet } from "./key-set.ts";
import { Rights } from "./rights.ts";
import { Subject } from "./subject.ts";

/** The tokens that a gateway takes: JSON Web Tokens, signed with HS256, RS256, ES256 or EdDSA. */
export interface TokenOptions {
  /**
   * Keys for checking tokens: a JSON Web Key Set, or the path of a file or https address with one.
   * Files and addresses are read again once a minute, and when a token names a key that is not known.
   */
  readonly keys: string | JsonWebKeySet;
  /** Required issuer of tokens (`iss`); any by default. */
  readonly issuer?: string;
  /** Required audience of tokens (`aud`); any by default. */
  readonly audience?: string;
  /** Most milliseconds between the issuer's clock and the gateway's; 3,000 by default. */
  readonly clockSkewMs?: number;
}

const MOST_SKEW_MS = 300_000;
const MOST_CHARACTERS = 16_384;
/** Pattern of a subject's name, which is shown to others. */
export const SUBJECT = /^[^\p{C}]{1,256}$/u;

/** Verifies tokens, and reads their subjects and rights. */
export class TokenVerifier {
  readonly #keys: KeySet;
  readonly #options: TokenOptions;
  /** Kicked subjects, and when, in seconds of Unix time: only newer tokens of theirs are taken. */
  readonly #kicked = new Map<string, number>();

  private constructor(keys: KeySet, options: TokenOptions) {
    this.#keys = keys;
    this.#options = options;
  }

  /** @throws JechoError `ARGUMENT_INVALID` where the keys cannot be used */
  static async open(options: TokenOptions, log: (line: string) => void): Promise<TokenVerifier> {
    const { clockSkewMs = 0 } = options;
    if (!(clockSkewMs >= 0 && clockSkewMs <= MOST_SKEW_MS))
      throw new JechoError(
        "ARGUMENT_INVALID",
        `tokens.clockSkewMs is ${clockSkewMs}; a number from 0 to ${MOST_SKEW_MS} is wanted`,
      );
    return new TokenVerifier(await KeySet.open(options.keys, log), options);
  }

  /** @throws JechoError `TOKEN_INVALID` with the reason, and nothing of the token's content */
  async verify(token: string): Promise<Subject> {
    if (token === "") throw new JechoError("TOKEN_INVALID", "this gateway wants a token");
    if (token.length > MOST_CHARACTERS)
      throw new JechoError("TOKEN_INVALID", `a token has at most ${MOST_CHARACTERS} characters`);
    const { issuer, audience, clockSkewMs = 3000 } = this.#options;
    try {
      const { payload } = await jwtVerify(token, header => this.#keys.find(header), {
        algorithms: ["HS256", "RS256", "ES256", "EdDSA"],
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
        clockTolerance: clockSkewMs / 1000,
        requiredClaims: ["sub", "exp"],
      });
      const { sub = "", exp = 0, iat = 0, can = [] } = payload;
      if (typeof sub !== "string" || !SUBJECT.test(sub))
        throw new TypeError("its subject (sub) is not 1 to 256 characters that can be shown");
      if (!Array.isArray(can) || !can.every(right => typeof right === "string"))
        throw new TypeError('its rights (can) are no list, as ["subscribe:weather/**"]');
      if (iat <= (this.#kicked.get(sub) ?? Number.NEGATIVE_INFINITY))
        throw new TypeError("an operator has refused the tokens that its subject had");
      return new Subject(sub, new Rights(can), exp * 1000 + clockSkewMs);
    } catch (error) {
      throw new JechoError("TOKEN_INVALID", `the token is not taken: ${(error as Error).message}`);
    }
  }

  /** Whether tokens of this subject are refused that were made before it was kicked. */
  hasRefused(name: string): boolean {
    return this.#kicked.has(name);
  }

  /** Refuses this subject's tokens that were made before now, or in this second. */
  refuseBefore(name: string): void {
    this.#kicked.set(name, Date.now() / 1000);
  }
}
