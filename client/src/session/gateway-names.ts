import { checkName, formatChannelName, isIdentity, JechoError, parseChannelName } from "@jecho/shared";
import { type GatewayAddress, parseAddress, textOf, urlOf } from "../options/connect-options.ts";

/** Session as its names see it. */
export interface NameAsker {
  /** Resolves when the session is live. @throws JechoError what ended it */
  ready(): Promise<void>;
  /** The gateway at an address that there is a connection with. */
  identityAt(address: GatewayAddress): string | undefined;
  /** Asks at an address which gateway is there. @throws JechoError why nobody can be asked */
  askAt(address: GatewayAddress): Promise<string>;
}

/** Where a full name leads. */
export interface Lead {
  /** The channel's name there. */
  readonly name: string;
  /** Address of another gateway than the session's own. */
  readonly elsewhere?: GatewayAddress;
  /** The identity that the gateway has to have. */
  readonly identity?: string;
}

/** Finds the gateway that a full name leads to: the session's own, one of its neighbours, or one that the name says the address of. */
export class GatewayNames {
  readonly #own: GatewayAddress;
  readonly #path: string;
  readonly #neighbours: readonly GatewayAddress[];
  readonly #asker: NameAsker;
  /** Other addresses that the session's gateway has. */
  readonly #aliases = new Set<string>();
  /** Questions under way, by address. */
  readonly #asked = new Map<string, Promise<string>>();
  #identity: string | undefined;

  constructor(own: GatewayAddress, neighbours: readonly GatewayAddress[], asker: NameAsker) {
    this.#own = own;
    this.#path = /\/.*/.exec(own.place)?.[0] ?? "";
    this.#neighbours = neighbours;
    this.#asker = asker;
  }

  /** Identity of the gateway that the session was last connected with; undefined before that. */
  get identity(): string | undefined {
    return this.#identity;
  }

  /** Called when there is a connection, with this gateway. */
  connected(identity: string): void {
    if (identity === this.#identity) return;
    this.#identity = identity;
    this.#aliases.clear();
  }

  /** A channel's name in full. @throws JechoError `CHANNEL_NAME_INVALID` */
  inFull(name: string): string {
    if (typeof name !== "string")
      throw new JechoError("CHANNEL_NAME_INVALID", `a channel's name is a string, not a ${typeof name}`);
    if (!name.startsWith("jecho://")) return formatChannelName(this.#own.place, checkName(name));
    const { server, at = isIdentity(server) ? undefined : server } = parseChannelName(name, this.#path);
    if (at !== undefined && !isAddress(at))
      throw new JechoError("CHANNEL_NAME_INVALID", `"${at.slice(0, 200)}" is not the address of a gateway`);
    return name;
  }

  /** The same name for somebody who is connected with another gateway: with the identity, and an address, as far as these are known here. */
  toHandOn(fullName: string): string {
    const { server, name, at } = parseChannelName(fullName, this.#path);
    if (at !== undefined) return fullName;
    const own = { ...this.#own, identity: this.#identity };
    const others = [...this.#neighbours, { place: server, secure: own.secure }];
    for (const gateway of [own, ...others.map(one => ({ ...one, identity: this.#asker.identityAt(one) }))]) {
      const { place, identity } = gateway;
      if (identity !== undefined && (identity === server || isSamePlace(place, server)))
        return formatChannelName(identity, name, textOf(gateway));
    }
    return fullName;
  }

  /**
   * Where a full name leads: at once where it has this session's own address. Else that has to be found out, for which the session has to be live.
   *
   * @throws JechoError, or rejects with, `CHANNEL_NAME_INVALID`; `CHANNEL_ELSEWHERE` where nobody says where the gateway is, or another one is there; why
   * the gateway there cannot be asked, or the signal's reason
   */
  lead(fullName: string, signal?: AbortSignal): Lead | Promise<Lead> {
    const { server, name, at } = parseChannelName(fullName, this.#path);
    if (isSamePlace(server, this.#own.place)) return { name };
    const identity = isIdentity(server) ? { identity: server } : {};
    const found = isIdentity(server) ? this.#byIdentity(server, at) : this.#byAddress(server);
    const lead = found.then(elsewhere =>
      elsewhere === undefined ? { name } : { name, elsewhere, ...identity },
    );
    return signal === undefined ? lead : unlessAborted(lead, signal);
  }

  /** @returns undefined for the session's own gateway */
  async #byIdentity(identity: string, at: string | undefined): Promise<GatewayAddress | undefined> {
    await this.#asker.ready();
    if (identity === this.#identity) return undefined;
    // What the application said itself goes before what stands in a name.
    const neighbour = await this.#neighbour(identity);
    if (!(neighbour instanceof JechoError)) return neighbour;
    if (at === undefined) throw neighbour;
    const address = parseAddress(at);
    checkIdentity(address.place, await this.#identityAt(address), identity);
    return address;
  }

  async #byAddress(place: string): Promise<GatewayAddress | undefined> {
    await this.#asker.ready();
    if (this.#aliases.has(place)) return undefined;
    const known = this.#neighbours.find(neighbour => isSamePlace(neighbour.place, place));
    if (known !== undefined) return known;
    const address = { place, secure: this.#own.secure };
    const found = await this.#identityAt(address).catch(error => {
      // Pages may not ask at any other address than their own.
      if (this.#identity !== undefined && areBothHere(place, this.#own.place)) return this.#identity;
      throw error;
    });
    if (found === this.#identity) {
      this.#aliases.add(place);
      return undefined;
    }
    const neighbour = await this.#neighbour(found);
    return neighbour instanceof JechoError ? address : neighbour;
  }

  /** @returns the neighbour with this identity, or why there is none */
  async #neighbour(identity: string): Promise<GatewayAddress | JechoError> {
    const asked = this.#neighbours.map(async neighbour => {
      checkIdentity(neighbour.place, await this.#identityAt(neighbour), identity);
      return neighbour;
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      const may = (error as AggregateError).errors
        .map(one => JechoError.from(one))
        .find(({ retry }) => retry);
      const why = `${identity} is another gateway than this session's, which is ${this.#identity} at ${this.#own.place}, and neither the name nor the session's neighbours say where`;
      return may ?? new JechoError("CHANNEL_ELSEWHERE", why);
    }
  }

  async #identityAt(address: GatewayAddress): Promise<string> {
    const known = this.#asker.identityAt(address);
    if (known !== undefined) return known;
    const url = urlOf(address);
    const asked = this.#asked.get(url) ?? this.#asker.askAt(address).finally(() => this.#asked.delete(url));
    this.#asked.set(url, asked);
    return asked;
  }
}

/** @throws JechoError `CHANNEL_ELSEWHERE` where another gateway than the one that a name says was found at an address */
export function checkIdentity(place: string, found: string | undefined, wanted: string): void {
  if (found === wanted) return;
  throw new JechoError("CHANNEL_ELSEWHERE", `at ${place} is the gateway ${found}, and not ${wanted}`);
}

/** Rejects with the signal's reason when that comes first. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Whether a connection may be tried there. */
function isAddress(server: string): boolean {
  try {
    return !server.includes("@") && parseAddress(server).place !== "";
  } catch {
    return false;
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether two addresses are of this very machine, and but for that the same. */
function areBothHere(a: string, b: string): boolean {
  const [one, other] = [a, b].map(address => new URL(`ws://${address}`)) as [URL, URL];
  if (!LOOPBACK.has(one.hostname) || !LOOPBACK.has(other.hostname)) return false;
  one.hostname = other.hostname;
  return one.href === other.href;
}

/** Whether two addresses say the same, written in whatever way. */
function isSamePlace(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [`ws://${a}`, `ws://${b}`];
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}
