import { createHash, randomBytes } from "node:crypto";

const IDENTITY_BYTES = 12;

/** The identity that gateways have in channels' names. @param known what no other gateways know or have */
export function identityFrom(known: string | Uint8Array): string {
  const digest = createHash("sha256").update(known).digest("hex");
  return `~${digest.slice(0, 2 * IDENTITY_BYTES)}`;
}

/** An identity that no gateway has had. */
export function freshIdentity(): string {
  return identityFrom(randomBytes(2 * IDENTITY_BYTES));
}
