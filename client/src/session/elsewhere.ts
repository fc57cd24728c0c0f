import { isIdentity, JechoError } from "@jecho/shared";
import type { Opener } from "../channel/opener.ts";
import { type ConnectOptions, type GatewayAddress, parseAddress, urlOf } from "../options/connect-options.ts";
import { type GatewayNames, isSamePlace, type KnownGateway } from "./gateway-names.ts";
import { type NewSession, OtherGateways, type OtherSession } from "./other-gateways.ts";

/** A session, as the ways of its channels see it. */
export interface WaysSession extends OtherSession {
  readonly address: string;
  ready(signal?: AbortSignal): Promise<void>;
}

/** The session that has names of other gateways, as far as it matters here. */
export interface ElsewhereHost<S extends WaysSession> {
  readonly own: S;
  readonly names: GatewayNames;
  readonly options: ConnectOptions;
  readonly neighbours: readonly GatewayAddress[];
  openerOf(session: S): Opener;
  /** @throws JechoError why the session can open nothing any more */
  checkUsable(): void;
  /** Asks at an address which gateway is there. @throws JechoError why nobody can be asked */
  askAt(address: GatewayAddress): Promise<string>;
  /** Makes a session with another gateway. @param onClosed called when one of its endpoints was closed */
  make(address: GatewayAddress, options: ConnectOptions, onClosed: () => void): NewSession<S>;
}

/** Where a full name leads. */
interface Lead {
  /** The channel's name there. */
  readonly name: string;
  /** Address of another gateway than the session's own. */
  readonly elsewhere?: GatewayAddress;
  /** The identity that the gateway has to have. */
  readonly identity?: string;
}

/**
 * Finds the gateway that a full name leads to, where that has not the session's own address: the session's own all the same, one of its neighbours, or one
 * that the name says the address of. It is loaded with the first such name.
 */
export class Elsewhere<S extends WaysSession> {
  readonly #host: ElsewhereHost<S>;
  readonly #names: GatewayNames;
  readonly #neighbours: readonly GatewayAddress[];
  readonly #others: OtherGateways<S>;
  /** Questions under way, by address. */
  readonly #asked = new Map<string, Promise<string>>();

  constructor(host: ElsewhereHost<S>) {
    this.#host = host;
    this.#names = host.names;
    this.#neighbours = host.neighbours;
    this.#others = new OtherGateways((address, onClosed) =>
      host.make(address, optionsAt(address, host.options), onClosed),
    );
  }

  /** Sessions with other gateways. */
  get others(): OtherGateways<S> {
    return this.#others;
  }

  /** Other gateways that a name may be of, with their identities where there is a connection. */
  known({ server }: { readonly server: string }): KnownGateway[] {
    const places = [...this.#neighbours, { place: server, secure: this.#names.own.secure }];
    return places.map(one => ({ ...one, identity: this.#others.identityAt(one) }));
  }

  /** Acts at the gateway that a full name leads to. @throws JechoError as `lead`, or what hinders a session with it */
  async act<R>(
    fullName: string,
    signal: AbortSignal | undefined,
    act: (opener: Opener, name: string) => Promise<R>,
  ): Promise<R> {
    const lead = await this.#lead(fullName, signal);
    const { name, elsewhere } = lead;
    const { own, openerOf } = this.#host;
    if (elsewhere === undefined) return act(openerOf(own), name);
    return this.#reach(elsewhere, lead, signal, session => act(openerOf(session), name));
  }

  /** The session with the gateway that a full name leads to. @throws JechoError as `act` */
  async at(fullName: string, signal: AbortSignal | undefined): Promise<S> {
    const lead = await this.#lead(fullName, signal);
    const { elsewhere } = lead;
    if (elsewhere === undefined) return this.#host.own;
    return this.#reach(elsewhere, lead, signal, async () => this.#others.hand(elsewhere));
  }

  async #reach<R>(
    elsewhere: GatewayAddress,
    { identity }: Lead,
    signal: AbortSignal | undefined,
    act: (session: S) => Promise<R>,
  ): Promise<R> {
    this.#host.checkUsable();
    return this.#others.act(elsewhere, async session => {
      await session.ready(signal);
      // Another gateway may be there by now.
      if (identity !== undefined) checkIdentity(session.address, session.gateway, identity);
      return act(session);
    });
  }

  /**
   * Finds out where a full name leads, for which the session has to be live.
   *
   * @throws JechoError `CHANNEL_ELSEWHERE` where nobody says where the gateway is, or another one is there; why the gateway there cannot be asked, or the
   * signal's reason
   */
  async #lead(fullName: string, signal: AbortSignal | undefined): Promise<Lead> {
    const { server, name, at } = this.#names.parse(fullName);
    const identity = isIdentity(server) ? { identity: server } : {};
    const found = isIdentity(server) ? this.#byIdentity(server, at) : this.#byAddress(server);
    const elsewhere = await (signal === undefined ? found : unlessAborted(found, signal));
    return elsewhere === undefined ? { name } : { name, elsewhere, ...identity };
  }

  /** @returns undefined for the session's own gateway */
  async #byIdentity(identity: string, at: string | undefined): Promise<GatewayAddress | undefined> {
    await this.#host.own.ready();
    if (identity === this.#names.identity) return undefined;
    // The application's own word goes before a name's.
    const neighbour = await this.#neighbour(identity);
    if (!(neighbour instanceof JechoError)) return neighbour;
    if (at === undefined) throw neighbour;
    const address = parseAddress(at);
    checkIdentity(address.place, await this.#identityAt(address), identity);
    return address;
  }

  async #byAddress(place: string): Promise<GatewayAddress | undefined> {
    await this.#host.own.ready();
    if (this.#names.aliases.has(place)) return undefined;
    const known = this.#neighbours.find(neighbour => isSamePlace(neighbour.place, place));
    if (known !== undefined) return known;
    const address = { place, secure: this.#names.own.secure };
    const found = await this.#identityAt(address).catch(error => {
      // Pages may not ask at any other address than their own.
      if (this.#names.identity !== undefined && areBothHere(place, this.#names.own.place))
        return this.#names.identity;
      throw error;
    });
    if (found === this.#names.identity) {
      this.#names.aliases.add(place);
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
      const why = `${identity} is another gateway than ${this.#names.identity} at ${this.#names.own.place}, and neither the name nor the session's neighbours say where`;
      return may ?? new JechoError("CHANNEL_ELSEWHERE", why);
    }
  }

  async #identityAt(address: GatewayAddress): Promise<string> {
    const known = this.#others.identityAt(address);
    if (known !== undefined) return known;
    const url = urlOf(address);
    const asked = this.#asked.get(url) ?? this.#host.askAt(address).finally(() => this.#asked.delete(url));
    this.#asked.set(url, asked);
    return asked;
  }
}

/** The options of a session's own session with another gateway, without what says who the first one is at its own. */
function optionsAt(
  there: GatewayAddress,
  { neighbours = [], others: _, token: __, handover: ___, modulating: ____, ...same }: ConnectOptions,
): ConnectOptions {
  for (const { address, ...own } of neighbours)
    if (urlOf(parseAddress(address)) === urlOf(there)) return { ...same, ...own };
  return same;
}

/** @throws JechoError `CHANNEL_ELSEWHERE` where another gateway than the one that a name says was found at an address */
function checkIdentity(place: string, found: string | undefined, wanted: string): void {
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

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether two addresses are of this very machine, and but for that the same. */
function areBothHere(a: string, b: string): boolean {
  const [one, other] = [a, b].map(address => new URL(`ws://${address}`)) as [URL, URL];
  if (!LOOPBACK.has(one.hostname) || !LOOPBACK.has(other.hostname)) return false;
  one.hostname = other.hostname;
  return one.href === other.href;
}
