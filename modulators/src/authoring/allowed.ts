import { JechoError } from "@jecho/shared";

/**
 * The modulators that a process runs for consumers of its own producers:
 *
 * - `any`: all that the gateway asks for
 * - `standard`: the standard modulators, and those whose text stands in `trusted`
 * - `signedBy`: these, and those that `signModulator` has signed with the secret key of one of these public keys
 * - `none`: none at all
 *
 * The others run beside the gateway, or with each consumer: the events come out the same.
 */
export type AllowedModulators = "any" | "standard" | "none" | { readonly signedBy: readonly string[] };

/** A public or secret key of Ed25519, in hexadecimal. */
export const KEY = /^[0-9a-f]{64}$/;

/** @throws JechoError `ARGUMENT_INVALID` */
export function checkAllowed(allow: unknown): void {
  const keys = (allow as { signedBy?: unknown } | undefined)?.signedBy;
  if (typeof allow === "object" && !(Array.isArray(keys) && keys.every(key => KEY.test(key))))
    throw new JechoError(
      "ARGUMENT_INVALID",
      "modulators.allow.signedBy is a list of public keys of Ed25519 in hexadecimal",
    );
}
