import { checkName, formatChannelName, isIdentity, JechoError, parseChannelName } from "@jecho/shared";
import type { GatewayAddress } from "../options/connect-options.ts";
import type { Answer, Question } from "../places/port.ts";

/** Session as its names see it. */
interface NameAsker {
  /** Resolves when the session is live. @throws JechoError what ended it */
  ready(): Promise<void>;
  /** Asks the gateway once the session is live. @throws JechoError what the answer is, or what ended the connection */
  ask(about: Question): Promise<Answer>;
}

/** Tells which channel names lead to a session's gateway: those with its address, with its identity, or with another address of it. */
export class GatewayNames {
  readonly #address: string;
  readonly #path: string;
  readonly #scheme: string;
  readonly #asker: NameAsker;
  /** Other addresses that the gateway has, or may have: these are being asked. */
  readonly #aliases = new Map<string, Promise<void>>();
  #identity: string | undefined;

  constructor({ place, secure }: GatewayAddress, asker: NameAsker) {
    this.#address = place;
    this.#path = /\/.*/.exec(place)?.[0] ?? "";
    this.#scheme = secure ? "wss" : "ws";
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
    if (!name.startsWith("jecho://")) return formatChannelName(this.#address, checkName(name));
    const { server } = parseChannelName(name, this.#path);
    if (!isIdentity(server) && !isAddress(server))
      throw new JechoError(
        "CHANNEL_NAME_INVALID",
        `"${server.slice(0, 200)}" is not the address of a gateway`,
      );
    return name;
  }

  /**
   * The user's part of a full name: at once where the name has this session's own address. Else it has to be found out which gateway it
   * leads to, for which the session has to be live.
   *
   * @throws JechoError, or rejects with, `CHANNEL_NAME_INVALID`; `CHANNEL_ELSEWHERE` where another gateway is there; why the gateway there cannot be asked
   */
  userName(fullName: string): string | Promise<string> {
    const { server, name } = parseChannelName(fullName, this.#path);
    return isSamePlace(server, this.#address) ? name : this.#check(server).then(() => name);
  }

  async #check(server: string): Promise<void> {
    if (!isIdentity(server)) return this.#aliases.get(server) ?? this.#inquire(server);
    await this.#asker.ready();
    if (server !== this.#identity) throw this.#elsewhere(server);
  }

  #inquire(server: string): Promise<void> {
    const inquire = async (): Promise<void> => {
      try {
        const answer = await this.#asker.ask({ gatewayAt: `${this.#scheme}://${server}/` });
        if ((answer as { gateway: string }).gateway === this.#identity) return;
      } catch (error) {
        // Pages may not ask at any other address than their own.
        if (areBothHere(server, this.#address)) return;
        throw error;
      }
      throw this.#elsewhere(server);
    };
    const asked = inquire();
    this.#aliases.set(server, asked);
    // It may be the same gateway another time.
    asked.catch(() => {
      if (this.#aliases.get(server) === asked) this.#aliases.delete(server);
    });
    return asked;
  }

  #elsewhere(server: string): JechoError {
    return new JechoError(
      "CHANNEL_ELSEWHERE",
      `${server} is another gateway than this session's, which is ${this.#identity} at ${this.#address}`,
    );
  }
}

/** Whether a connection may be tried there. */
function isAddress(server: string): boolean {
  return /^[^\s?#@]+$/.test(server) && URL.canParse(`ws://${server}/`);
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
