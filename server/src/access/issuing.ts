import { randomUUID } from "node:crypto";
import { JechoError } from "@jecho/shared";
import { exportJWK, generateKeyPair, generateSecret, importJWK, type JWK, SignJWT } from "jose";
import type { JsonWebKeySet } from "./key-set.ts";
import { Rights } from "./rights.ts";

/** Algorithms for signing tokens. With HS256 the key that checks tokens also makes them. */
export const ALGORITHMS = ["EdDSA", "ES256", "RS256", "HS256"] as const;
/** One of the algorithms. */
export type TokenAlgorithm = (typeof ALGORITHMS)[number];

/** A pair of keys for tokens. */
export interface TokenKeys {
  /** Keys that make tokens, for the issuer alone. */
  readonly signing: JsonWebKeySet;
  /** Keys with which a gateway checks tokens; with HS256 the same. */
  readonly checking: JsonWebKeySet;
}

/** The claims of a token. */
export interface TokenClaims {
  /** Name of the token's owner, shown to others: 1 to 256 characters. */
  readonly subject: string;
  /** Rights of that subject, as `subscribe:weather/**`. */
  readonly can: readonly string[];
  /** Life of the token, in seconds; 86,400 by default. */
  readonly seconds?: number;
  /** Issuer of the token, for gateways that require one. */
  readonly issuer?: string;
  /** Audience of the token, for gateways that require one. */
  readonly audience?: string;
}

/** Makes keys for tokens. */
export async function createTokenKeys(algorithm: TokenAlgorithm = "EdDSA"): Promise<TokenKeys> {
  const named = { alg: algorithm, kid: randomUUID() };
  if (algorithm === "HS256") {
    const secret = await exportJWK(await generateSecret(algorithm, { extractable: true }));
    const both = { keys: [{ ...secret, ...named }] };
    return { signing: both, checking: both };
  }
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const [signing, checking] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)]);
  return { signing: { keys: [{ ...signing, ...named }] }, checking: { keys: [{ ...checking, ...named }] } };
}

/**
 * Makes a token, signed with the first of these keys.
 *
 * @throws JechoError `ARGUMENT_INVALID` where a right is none, or the key cannot sign
 */
export async function createToken({ keys: [first] }: JsonWebKeySet, claims: TokenClaims): Promise<string> {
  const { subject, can, seconds = 86_400, issuer, audience } = claims;
  const { kid, alg = "", ...key }: JWK = first ?? {};
  // A token that no gateway takes is not made.
  new Rights(can);
  try {
    const token = new SignJWT({ can })
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime(`${seconds} s`);
    if (issuer !== undefined) token.setIssuer(issuer);
    if (audience !== undefined) token.setAudience(audience);
    return await token.sign(await importJWK(key, alg));
  } catch (error) {
    throw new JechoError("ARGUMENT_INVALID", `the token cannot be made: ${(error as Error).message}`);
  }
}
