import { JechoError } from "@jecho/shared";
import { refusal } from "@jecho/shared/internal";
import { statusNow } from "../session/status.ts";
import type { Endpoint, PortEnd } from "./endpoints/endpoint.ts";
import type { Openings } from "./endpoints/openings.ts";
import type { Link } from "./link.ts";

const GONE = "the session with this token is gone";
/** Time for consumers and objects that are not open to be so, in milliseconds: less than the gateway waits for the session. */
const MOST_OPENING_MS = 3000;

/** A session that another device takes over, once all that it has is open. */
interface YieldingSession {
  readonly port: PortEnd;
  readonly request: number;
  /** The request by which the session asked for its token. */
  readonly asked: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Sessions here that other devices may take over. A page loads this when it asks for a token. */
export class SessionHandovers {
  readonly #link: Link;
  readonly #openings: Openings;
  /** Sessions that asked for a token, by the request at the present connection. */
  readonly #askers = new Map<number, PortEnd>();
  readonly #yielding = new Set<YieldingSession>();

  constructor(link: Link, openings: Openings) {
    this.#link = link;
    this.#openings = openings;
  }

  /** A session asks for a token by which another device takes it over. */
  ask(port: PortEnd, request: number): void {
    this.#askers.set(request, port);
    this.#link.send({ kind: "AskHandover", request });
  }

  /** Another device takes over the session that got its token by the request `asked`. `settle` is called next. */
  yield(request: number, asked: number): void {
    const port = this.#askers.get(asked);
    if (port === undefined) return this.#refuse(request, GONE);
    // The gateway knows those alone that are open.
    for (const endpoint of unopened(port)) {
      if (endpoint.is !== "consumer") continue;
      // Stalled consumers come back, too: another device takes their events.
      endpoint.isStalled = false;
      this.#openings.wake(endpoint);
    }
    const timer = setTimeout(() => this.#overdue(yielding), MOST_OPENING_MS);
    const yielding: YieldingSession = { port, request, asked, timer };
    this.#yielding.add(yielding);
  }

  /** Hands over the sessions that wait for nothing any more. */
  settle(): void {
    for (const yielding of this.#yielding) if (unopened(yielding.port).length === 0) this.#yield(yielding);
  }

  #overdue(yielding: YieldingSession): void {
    const left = unopened(yielding.port).length;
    if (left === 0) return this.#yield(yielding);
    this.#drop(yielding);
    this.#refuse(
      yielding.request,
      `${left} of the session's consumers and objects are not open, or have not had their past yet`,
    );
  }

  /** Ends the session, and tells the gateway its positions. Other sessions go on. */
  #yield(yielding: YieldingSession): void {
    this.#drop(yielding);
    const { port, request, asked } = yielding;
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
    port.close?.();
  }

  /** A session has ended. */
  forget(port: PortEnd): void {
    for (const [request, asker] of this.#askers) if (asker === port) this.#askers.delete(request);
    for (const yielding of this.#yielding) {
      if (yielding.port !== port) continue;
      this.#drop(yielding);
      this.#refuse(yielding.request, GONE);
    }
  }

  /** The connection broke: its tokens are good no more. */
  interrupted(): void {
    this.#askers.clear();
    for (const yielding of this.#yielding) this.#drop(yielding);
  }

  #drop(yielding: YieldingSession): void {
    clearTimeout(yielding.timer);
    this.#yielding.delete(yielding);
  }

  #refuse(request: number, why: string): void {
    this.#link.send(refusal(request, new JechoError("HANDOVER_INVALID", why)));
  }
}

/** Consumers and objects of a session that the gateway does not know as open, and consumers whose past is still being made. */
function unopened(port: PortEnd): Endpoint[] {
  const all = Array.from(port.endpoints, ([, endpoint]) => endpoint);
  return all.filter(
    endpoint =>
      endpoint.is !== "producer" &&
      (endpoint.open === undefined || (endpoint.is === "consumer" && endpoint.past !== undefined)),
  );
}
