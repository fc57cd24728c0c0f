import { checkName, formatChannelName, isIdentity, JechoError, parseChannelName } from "@jecho/shared";
import { type GatewayAddress, parseAddress, textOf } from "../options/connect-options.ts";

/** A gateway whose identity may be known. */
export interface KnownGateway extends GatewayAddress {
  readonly identity: string | undefined;
}

/** Names of channels, as a session with this gateway reads and writes them. */
export class GatewayNames {
  readonly own: GatewayAddress;
  readonly #path: string;
  /** Other addresses that the session's gateway has. */
  readonly aliases = new Set<string>();
  #identity: string | undefined;

  constructor(own: GatewayAddress) {
    this.own = own;
    this.#path = /\/.*/.exec(own.place)?.[0] ?? "";
  }

  /** Identity of the gateway that the session was last connected with; undefined before that. */
  get identity(): string | undefined {
    return this.#identity;
  }

  /** Notes the identity of the gateway that a connection is with. */
  connected(identity: string): void {
    if (identity === this.#identity) return;
    this.#identity = identity;
    this.aliases.clear();
  }

  /** A channel's name in full. @throws JechoError `CHANNEL_NAME_INVALID` */
  inFull(name: string): string {
    if (typeof name !== "string")
      throw new JechoError("CHANNEL_NAME_INVALID", `a channel's name is a string, not ${typeof name}`);
    if (!name.startsWith("jecho://")) return formatChannelName(this.own.place, checkName(name));
    const { server, at = isIdentity(server) ? undefined : server } = this.parse(name);
    if (at !== undefined && !isAddress(at))
      throw new JechoError("CHANNEL_NAME_INVALID", `"${at.slice(0, 200)}" is not the address of a gateway`);
    return name;
  }

  /** The parts of a full name. @throws JechoError `CHANNEL_NAME_INVALID` */
  parse(fullName: string): ReturnType<typeof parseChannelName> {
    return parseChannelName(fullName, this.#path);
  }

  /** The channel's name on the wire, where the full name has this session's own address; undefined where the gateway there has to be asked. */
  ownName(fullName: string): string | undefined {
    const { server, name } = this.parse(fullName);
    return isSamePlace(server, this.own.place) ? name : undefined;
  }

  /**
   * The same name for somebody who is connected with another gateway: with the identity, and an address, as far as these are known here.
   *
   * @param others other gateways that are known
   */
  toHandOn(fullName: string, others: readonly KnownGateway[]): string {
    const { server, name, at } = this.parse(fullName);
    if (at !== undefined) return fullName;
    for (const gateway of [{ ...this.own, identity: this.#identity }, ...others]) {
      const { place, identity } = gateway;
      if (identity !== undefined && (identity === server || isSamePlace(place, server)))
        return formatChannelName(identity, name, textOf(gateway));
    }
    return fullName;
  }
}

/** Whether a connection may be tried there. */
function isAddress(server: string): boolean {
  try {
    return !server.includes("@") && parseAddress(server).place !== "";
  } catch {
    return false;
  }
}

/** Whether two addresses say the same, written in whatever way. */
export function isSamePlace(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [`ws://${a}`, `ws://${b}`];
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}
