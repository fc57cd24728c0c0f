import type { ChannelWays } from "../channel/channel.ts";
import type { Opener } from "../channel/opener.ts";
import type { GatewayAddress } from "../options/connect-options.ts";
import { checkIdentity, type GatewayNames, type Lead } from "./gateway-names.ts";
import type { OtherGateways, OtherSession } from "./other-gateways.ts";

/** A session, as the ways of its channels see it. */
interface WaysSession extends OtherSession {
  readonly address: string;
  ready(signal?: AbortSignal): Promise<void>;
}

/** Where a session's channels lead: to itself, or to a session with another gateway. */
export class Ways<S extends WaysSession> implements ChannelWays {
  readonly #own: S;
  readonly #names: GatewayNames;
  readonly #others: OtherGateways<S>;
  readonly #openerOf: (session: S) => Opener;
  readonly #checkUsable: () => void;

  /** @param checkUsable throws why the session can open nothing any more */
  constructor(
    own: S,
    names: GatewayNames,
    others: OtherGateways<S>,
    openerOf: (session: S) => Opener,
    checkUsable: () => void,
  ) {
    this.#own = own;
    this.#names = names;
    this.#others = others;
    this.#openerOf = openerOf;
    this.#checkUsable = checkUsable;
  }

  async act<R>(
    fullName: string,
    signal: AbortSignal | undefined,
    act: (opener: Opener, name: string) => Promise<R>,
  ): Promise<R> {
    const found = this.#names.lead(fullName, signal);
    // What is known at once is asked for at once, in its order among what else is.
    const lead = found instanceof Promise ? await found : found;
    const { name, elsewhere } = lead;
    if (elsewhere === undefined) return act(this.#openerOf(this.#own), name);
    return this.#reach(elsewhere, lead, signal, session => act(this.#openerOf(session), name));
  }

  /** The session with the gateway that a name leads to. @throws JechoError as `act` */
  async at(name: string, signal?: AbortSignal): Promise<S> {
    const lead = await this.#names.lead(this.#names.inFull(name), signal);
    const { elsewhere } = lead;
    if (elsewhere === undefined) return this.#own;
    return this.#reach(elsewhere, lead, signal, async () => this.#others.hand(elsewhere));
  }

  toHandOn(fullName: string): string {
    return this.#names.toHandOn(fullName);
  }

  async #reach<R>(
    elsewhere: GatewayAddress,
    { identity }: Lead,
    signal: AbortSignal | undefined,
    act: (session: S) => Promise<R>,
  ): Promise<R> {
    this.#checkUsable();
    return this.#others.act(elsewhere, async session => {
      await session.ready(signal);
      // Another gateway may be there by now.
      if (identity !== undefined) checkIdentity(session.address, session.gateway, identity);
      return act(session);
    });
  }
}
