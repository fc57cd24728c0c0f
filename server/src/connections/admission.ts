import { isIP } from "node:net";

/** Most origins whose refusal is logged. */
const MOST_LOGGED = 100;
const SHOWN_CHARACTERS = 200;

/**
 * Decides which pages may connect: those of the gateway's own origin, under a name that it answers to, and those of listed origins. The names are
 * checked because anybody may have a name that points to this machine (DNS rebinding), whose pages would look like the gateway's own.
 */
export class Admission {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #log: (line: string) => void;
  readonly #refused = new Set<string>();

  /**
   * @param hosts names that it answers to besides this machine's own and all addresses, which no other site can have
   * @param origins further origins that may connect
   */
  constructor(hosts: readonly string[], origins: readonly string[], log: (line: string) => void) {
    this.#hosts = new Set(hosts);
    this.#origins = new Set(origins);
    this.#log = log;
  }

  /** @param origin "" for a client that is no page @returns whether it may connect; the first refusal is logged */
  admits(origin: string, host: string): boolean {
    const refusal = this.refusal(origin, host);
    if (refusal !== undefined) this.#tell(origin, refusal);
    return refusal === undefined;
  }

  /** @returns why pages of this origin may not connect, and what would allow it; undefined where they may */
  refusal(origin: string, host: string): string | undefined {
    if (origin === "" || this.#origins.has(origin)) return undefined;
    const own = URL.canParse(origin) ? new URL(origin) : undefined;
    const isSame = own !== undefined && own.host === host.toLowerCase();
    if (isSame && this.#answersTo(own.hostname)) return undefined;
    // Foreign text must not control the operator's terminal.
    const shown = JSON.stringify(origin.slice(0, SHOWN_CHARACTERS).replace(/[^\x20-\x7e]/g, "?"));
    return isSame
      ? `pages of ${shown} may not connect: the gateway does not know that name as its own (--allow-host ${JSON.stringify(own.hostname)})`
      : `pages of ${shown} may not connect: that is not the gateway's own origin (--origin ${shown})`;
  }

  #answersTo(hostname: string): boolean {
    const name = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
    return isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || this.#hosts.has(name);
  }

  #tell(origin: string, line: string): void {
    if (this.#refused.has(origin) || this.#refused.size > MOST_LOGGED) return;
    this.#refused.add(origin);
    this.#log(
      this.#refused.size > MOST_LOGGED ? "pages of more origins may not connect; they are not logged" : line,
    );
  }
}

const IPV4_BYTES = 4;
/** Bytes of an IPv6 network: who has one IPv6 address has a whole network. */
const NETWORK_BYTES = 8;
const MAPPED = "00000000000000000000ffff";

/** The address that connections are counted by: an IPv4 address, or an IPv6 network of 64 bits. @param bytes 4 or 16 */
export function addressOf(bytes: ArrayBuffer): string {
  const text = Buffer.from(bytes).toString("hex");
  if (bytes.byteLength <= IPV4_BYTES) return text;
  return text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text.slice(0, 2 * NETWORK_BYTES);
}
