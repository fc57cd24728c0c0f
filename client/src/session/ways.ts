import { loadsOverNetwork } from "#platform";
import type { ChannelWays } from "../channel/channel.ts";
import type { Opener } from "../channel/opener.ts";
import type { Elsewhere, ElsewhereHost, WaysSession } from "./elsewhere.ts";

/** Where a session's channels lead: to itself, or to a session with another gateway. */
export class Ways<S extends WaysSession> implements ChannelWays {
  readonly #host: ElsewhereHost<S>;
  #elsewhere: Elsewhere<S> | undefined;

  constructor(host: ElsewhereHost<S>) {
    this.#host = host;
  }

  async act<R>(
    fullName: string,
    signal: AbortSignal | undefined,
    act: (opener: Opener, name: string) => Promise<R>,
  ): Promise<R> {
    const { names, openerOf, own } = this.#host;
    const name = names.ownName(fullName);
    // At once, in its order among what else is asked for.
    if (name !== undefined) return act(openerOf(own), name);
    return (await this.#load(signal)).act(fullName, signal, act);
  }

  /** The session with the gateway that a name leads to. @throws JechoError as `act` */
  async at(name: string, signal?: AbortSignal): Promise<S> {
    const { names, own } = this.#host;
    const fullName = names.inFull(name);
    if (names.ownName(fullName) !== undefined) return own;
    return (await this.#load(signal)).at(fullName, signal);
  }

  toHandOn(fullName: string): string {
    const { names } = this.#host;
    return names.toHandOn(fullName, this.#elsewhere?.known(names.parse(fullName)) ?? []);
  }

  /** Whether endpoints are open at other gateways. */
  get areUsed(): boolean {
    return this.#elsewhere?.others.areUsed === true;
  }

  async flush(): Promise<void> {
    await this.#elsewhere?.others.flush();
  }

  async close(): Promise<void> {
    await this.#elsewhere?.others.close();
  }

  async load<Part>(load: () => Promise<Part>, signal: AbortSignal | undefined): Promise<Part> {
    // As long as the gateway is away its page's server may be, too.
    if (loadsOverNetwork) await this.#host.own.ready(signal);
    return load();
  }

  async #load(signal: AbortSignal | undefined): Promise<Elsewhere<S>> {
    if (this.#elsewhere !== undefined) return this.#elsewhere;
    const loaded = await this.load(() => import("./elsewhere.ts"), signal);
    this.#elsewhere ??= new loaded.Elsewhere(this.#host);
    return this.#elsewhere;
  }
}
