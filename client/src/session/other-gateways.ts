import { type GatewayAddress, urlOf } from "../options/connect-options.ts";
import type { Status } from "./status.ts";

/** A session with another gateway, as the one that has made it sees it. */
export interface OtherSession {
  readonly gateway: string | undefined;
  readonly status: Status;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** A session that has been made, whether endpoints of it are open, and when what was raised there has been taken. */
export interface NewSession<S> {
  readonly session: S;
  isUsed(): boolean;
  taken(): Promise<void>;
}

interface OtherGateway<S> extends NewSession<S> {
  /** Whether the application has it, and says when it is over. */
  isHanded: boolean;
  /** Openings and questions under way. */
  acting: number;
}

/** Makes a session with a gateway, and has it say when an endpoint was closed. */
type Make<S> = (address: GatewayAddress, onClosed: () => void) => NewSession<S>;

/**
 * Sessions with other gateways that a session makes as names lead there, one for each address; each ends with the last of its endpoints.
 * They are known by address and not by the identity that is said there: so nobody gets what is meant for another by saying that one's identity.
 */
export class OtherGateways<S extends OtherSession> {
  readonly #make: Make<S>;
  readonly #known = new Map<string, OtherGateway<S>>();

  constructor(make: Make<S>) {
    this.#make = make;
  }

  /** Acts in the session with that gateway. */
  async act<R>(address: GatewayAddress, act: (session: S) => Promise<R>): Promise<R> {
    const known = this.#at(address);
    known.acting++;
    try {
      return await act(known.session);
    } finally {
      known.acting--;
      void this.#rest(address);
    }
  }

  /** Hands the session with that gateway to the application: it ends with the one that has made it, if not before. */
  hand(address: GatewayAddress): S {
    const known = this.#at(address);
    known.isHanded = true;
    return known.session;
  }

  /** The identity of the gateway at an address; undefined where there is no connection. */
  identityAt(address: GatewayAddress): string | undefined {
    const session = this.#known.get(urlOf(address))?.session;
    return session?.status.state === "live" ? session.gateway : undefined;
  }

  /** Whether endpoints are open at other gateways. */
  get areUsed(): boolean {
    return this.#going.some(known => known.isUsed());
  }

  async flush(): Promise<void> {
    await Promise.all(this.#going.map(({ session }) => session.flush()));
  }

  async close(): Promise<void> {
    const all = [...this.#known.values()];
    this.#known.clear();
    await Promise.all(all.map(({ session }) => session.close()));
  }

  get #going(): OtherGateway<S>[] {
    return [...this.#known.values()].filter(({ session }) => isGoing(session));
  }

  #at(address: GatewayAddress): OtherGateway<S> {
    const url = urlOf(address);
    const known = this.#known.get(url);
    if (known !== undefined && isGoing(known.session)) return known;
    void known?.session.close();
    const made = { ...this.#make(address, () => void this.#rest(address)), isHanded: false, acting: 0 };
    this.#known.set(url, made);
    return made;
  }

  /** Ends the session with that gateway if nothing needs it any more. */
  async #rest(address: GatewayAddress): Promise<void> {
    const url = urlOf(address);
    const known = this.#known.get(url);
    const isNeeded = (): boolean =>
      known === undefined || known.isHanded || known.acting > 0 || known.isUsed();
    if (isNeeded()) return;
    await known?.taken();
    if (isNeeded() || this.#known.get(url) !== known) return;
    this.#known.delete(url);
    await known?.session.close();
  }
}

function isGoing({ status: { state } }: OtherSession): boolean {
  return state !== "closed" && state !== "refused";
}
