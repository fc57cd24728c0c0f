import type { GatewayLimits } from "./gateway-limits.ts";

const IPV4_BYTES = 4;
/** Whoever has one address of IPv6 has a network of them. */
const NETWORK_BYTES = 8;
const MAPPED = "00000000000000000000ffff";

/** Counts connections, all of them and those of each address. */
export class Crowd {
  readonly #limits: Required<Pick<GatewayLimits, "connections" | "connectionsPerAddress">>;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  constructor(limits: Required<Pick<GatewayLimits, "connections" | "connectionsPerAddress">>) {
    this.#limits = limits;
  }

  /** One more comes. @returns why it may not stay, in which case it is not counted */
  enter(address: string): string | undefined {
    const { connections, connectionsPerAddress } = this.#limits;
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#all >= connections) return `the gateway has at most ${connections} connections`;
    if (own >= connectionsPerAddress) return `an address has at most ${connectionsPerAddress} connections`;
    this.#all++;
    this.#byAddress.set(address, own + 1);
    return undefined;
  }

  leave(address: string): void {
    this.#all--;
    const own = (this.#byAddress.get(address) ?? 0) - 1;
    if (own > 0) this.#byAddress.set(address, own);
    else this.#byAddress.delete(address);
  }
}

/** Whom connections of an address are counted for. @param bytes 4 or 16 */
export function addressOf(bytes: ArrayBuffer): string {
  const text = Buffer.from(bytes).toString("hex");
  if (bytes.byteLength <= IPV4_BYTES) return text;
  return text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text.slice(0, 2 * NETWORK_BYTES);
}
