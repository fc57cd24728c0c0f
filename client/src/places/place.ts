import { JechoError } from "@jecho/shared";
import { defaultPlace, loadHere, startThread, watchPage } from "#places";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import { statusNow } from "../session/status.ts";
import type { PlacePort, Port, PortListener, PortRequest } from "./port.ts";
import { RemotePort } from "./remote-port.ts";

/**
 * Where a session's concentrator runs, and its connection with it.
 *
 * - `here`: in the application's own thread; it works only while that yields
 * - `worker`: in a thread of its own: a worker thread of Node, a worker of the page
 * - `shared`: in a SharedWorker: all tabs of an origin have one connection to a gateway
 */
export type ConcentratorPlace = "here" | "worker" | "shared";

/** Places to try, in order, where a place is not available. */
const FALLBACKS: Readonly<Record<ConcentratorPlace, readonly ConcentratorPlace[]>> = {
  here: ["here"],
  worker: ["worker", "here"],
  shared: ["shared", "worker", "here"],
};

/** Opens a port to a concentrator at a place, or at the next best one. @throws JechoError `ARGUMENT_INVALID` where there is no such place */
export function openPort(
  place: ConcentratorPlace = defaultPlace,
  options: ConcentratorOptions,
  listener: PortListener,
): Port {
  return new PlacedPort(FALLBACKS[place], options, listener);
}

/** Opens a port to a concentrator in this very thread. */
export type OpenHere = (options: ConcentratorOptions, listener: PortListener) => PlacePort;

/** Keeps requests until the place is known to exist, and passes them to the next place where it does not. */
class PlacedPort implements Port {
  readonly #options: ConcentratorOptions;
  readonly #listener: PortListener;
  readonly #settled = Promise.withResolvers<void>();
  readonly #stopWatching: () => void;
  readonly #closing = new AbortController();
  #port: PlacePort | undefined;
  #kept: PortRequest[] | undefined = [];
  #posted = 0;

  constructor(places: readonly ConcentratorPlace[], options: ConcentratorOptions, listener: PortListener) {
    this.#options = options;
    this.#listener = listener;
    this.#stopWatching = watchPage(() => this.post({ is: "probe" }));
    this.#try(places);
  }

  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  get posted(): number {
    return this.#posted;
  }

  drainHere(): void {
    this.#port?.drainHere?.();
  }

  post(request: PortRequest): void {
    this.#posted++;
    this.#kept?.push(request);
    this.#port?.post(request);
  }

  memory(bytes: number): ArrayBufferLike | undefined {
    return this.#port?.memory(bytes);
  }

  close(): Promise<void> {
    this.#stopWatching();
    this.#closing.abort();
    this.#kept = undefined;
    this.#settled.resolve();
    return this.#port?.close() ?? Promise.resolve();
  }

  #try([place, ...others]: readonly ConcentratorPlace[]): void {
    if (place === undefined || place === "here") {
      const away = (error: JechoError): void =>
        this.#listener.notify({ is: "status", status: statusNow("connecting", error) });
      const loading = loadHere(this.#options, away, this.#closing.signal);
      if (loading instanceof Promise) loading.then(open => this.#beginHere(open), this.#failed);
      else this.#beginHere(loading);
      return;
    }
    const end = startThread(place);
    if (end === undefined) return this.#try(others);
    this.#port = new RemotePort(end, this.#options, this.#listener, {
      onReady: () => {
        this.#kept = undefined;
        this.#settled.resolve();
      },
      onFailed: error => {
        if (this.#kept === undefined) this.#failed(error);
        else this.#try(others);
      },
    });
    for (const request of this.#kept ?? []) this.#port.post(request);
  }

  #beginHere(openHere: OpenHere): void {
    const kept = this.#kept;
    // It may have been closed meanwhile.
    if (kept === undefined) return;
    this.#port = openHere(this.#options, this.#listener);
    this.#kept = undefined;
    this.#settled.resolve();
    for (const request of kept) this.#port.post(request);
  }

  readonly #failed = (error: unknown): void => {
    if (this.#closing.signal.aborted) return;
    this.#kept = undefined;
    this.#listener.notify({ is: "gone", error: JechoError.from(error, "CONNECTION_LOST") });
    this.#settled.resolve();
  };
}
