import { JechoError } from "@jecho/shared";
import { statusNow } from "../session/status.ts";
import type { PortEnd } from "./endpoints/endpoint.ts";
import type { Openings } from "./endpoints/openings.ts";
import type { Link } from "./link.ts";

/** Sessions here that other devices may take over. A page loads this when it asks for a token. */
export class SessionHandovers {
  readonly #link: Link;
  readonly #openings: Openings;
  /** Sessions that asked for a token, by the request at the present connection. */
  readonly #askers = new Map<number, PortEnd>();

  constructor(link: Link, openings: Openings) {
    this.#link = link;
    this.#openings = openings;
  }

  /** A session asks for a token by which another device takes it over. */
  ask(port: PortEnd, request: number): void {
    this.#askers.set(request, port);
    this.#link.send({ kind: "AskHandover", request });
  }

  /**
   * Ends the session that got its token by the request `asked`, and tells the gateway its positions. Other sessions go on.
   *
   * @returns that session, unless it has ended before
   */
  yield(request: number, asked: number): PortEnd | undefined {
    const port = this.#askers.get(asked);
    if (port === undefined) return undefined;
    const places = [];
    const copies = [];
    const objects = [];
    for (const [, endpoint] of [...port.endpoints]) {
      const { open } = endpoint;
      // What it produces ends with the session.
      if (endpoint.is === "producer") continue;
      if (open !== undefined) {
        if (endpoint.is === "object") copies.push(open.number);
        else {
          places.push(endpoint.placeOf(open.number));
          for (const { object } of endpoint.modulator?.objects ?? []) objects.push(object);
        }
      }
      // The gateway removes them by itself.
      this.#openings.end(endpoint);
    }
    this.#link.send({ kind: "Yielded", request, asked, places, copies, objects });
    const error = new JechoError("HANDED_OVER", "the session was handed over to another device");
    port.listener.notify({ is: "status", status: statusNow("refused", error) });
    return port;
  }

  /** A session has ended. */
  forget(port: PortEnd): void {
    for (const [request, asker] of this.#askers) if (asker === port) this.#askers.delete(request);
  }

  /** The connection broke: its tokens are good no more. */
  interrupted(): void {
    this.#askers.clear();
  }
}
