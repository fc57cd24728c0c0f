import type { JechoError } from "@jecho/shared";
import { type EventsFrame, NumberTable } from "@jecho/shared/internal";
import { laterTurn } from "#platform";
import type { PortNotice } from "../places/port.ts";

/** An endpoint of a session: a producer, a consumer, a copy of a shared object. */
export interface SessionEndpoint {
  notice(notice: PortNotice): void;
  /** Takes a run for a consumer, from its event `first` on. */
  receive?(frame: EventsFrame, first: number): void;
  close(): Promise<void>;
}

interface Opening {
  resolve(): void;
  reject(error: unknown): void;
}

/** The endpoints of a session by their numbers, and which of them are being opened. */
export class Endpoints {
  readonly #endpoints = new NumberTable<SessionEndpoint>();
  readonly #openings = new Map<number, Opening>();
  /** Functions that stop listening to endpoints' signals. */
  readonly #stops = new Map<number, () => void>();
  readonly #onClosed: (() => void) | undefined;
  #next = 1;
  /**
   * Runs that came in the same turn as the word that an endpoint is open. They wait until the application has the consumer, which its handler
   * may want to close.
   */
  readonly #early = new Map<number, (() => void)[]>();
  /** Hands a run to a consumer, from its event `first` on, until all endpoints are closed. */
  readonly receive = (number: number, frame: EventsFrame, first: number): void => {
    const early = this.#early.get(number);
    if (early === undefined) return this.#endpoints.get(number)?.receive?.(frame, first);
    const copy = frame.copy();
    early.push(() => this.receive(number, copy, first));
  };

  /** @param onClosed called when one has been closed */
  constructor(onClosed?: () => void) {
    this.#onClosed = onClosed;
  }

  /** Whether any is open, or being opened. */
  get areThere(): boolean {
    return !this.#endpoints[Symbol.iterator]().next().done;
  }

  /** The number of an endpoint to come. */
  next(): number {
    return this.#next++;
  }

  add(endpoint: SessionEndpoint): number {
    const number = this.next();
    this.#endpoints.set(number, endpoint);
    return number;
  }

  remove(number: number): void {
    this.#endpoints.delete(number);
    this.#stops.get(number)?.();
    this.#onClosed?.();
  }

  /**
   * Resolves when the endpoint is open. It is closed again where it cannot be opened, and when the signal is aborted.
   *
   * @param ask asks the concentrator to open it
   * @throws JechoError what refused it, or the signal's reason
   */
  async open(
    number: number,
    endpoint: SessionEndpoint,
    signal: AbortSignal | undefined,
    ask: () => void,
  ): Promise<void> {
    signal?.throwIfAborted();
    this.#endpoints.set(number, endpoint);
    if (signal !== undefined) this.#heed(signal, number, endpoint);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#openings.set(number, { resolve, reject });
        ask();
      });
      signal?.throwIfAborted();
    } catch (error) {
      void endpoint.close();
      throw error;
    } finally {
      this.#openings.delete(number);
    }
  }

  /** Ends the endpoint with this signal, which may live longer than the endpoint. */
  #heed(signal: AbortSignal, number: number, endpoint: SessionEndpoint): void {
    const abort = (): void => {
      this.#openings.get(number)?.reject(signal.reason);
      void endpoint.close();
    };
    signal.addEventListener("abort", abort);
    this.#stops.set(number, () => {
      signal.removeEventListener("abort", abort);
      this.#stops.delete(number);
    });
  }

  notice(number: number, notice: PortNotice): void {
    const early = this.#early.get(number);
    if (early === undefined) this.#endpoints.get(number)?.notice(notice);
    else early.push(() => this.notice(number, notice));
  }

  opened(notice: Extract<PortNotice, { is: "opened" }>): void {
    const { endpoint } = notice;
    this.notice(endpoint, notice);
    const opening = this.#openings.get(endpoint);
    if (opening === undefined || this.#early.has(endpoint)) return;
    opening.resolve();
    // Only consumers have a handler.
    if (this.#endpoints.get(endpoint)?.receive === undefined) return;
    const early: (() => void)[] = [];
    this.#early.set(endpoint, early);
    laterTurn(() => {
      this.#early.delete(endpoint);
      for (const hand of early) hand();
    });
  }

  /** @returns whether anybody waited for it to be opened */
  refused(notice: Extract<PortNotice, { is: "refused" }>): boolean {
    this.notice(notice.endpoint, notice);
    const opening = this.#openings.get(notice.endpoint);
    opening?.reject(notice.error);
    return opening !== undefined;
  }

  /** The session has ended: no endpoint hears of the gateway again. */
  fail(error: JechoError): void {
    for (const { reject } of this.#openings.values()) reject(error);
    for (const [number, endpoint] of [...this.#endpoints]) {
      endpoint.notice({ is: "interrupted", endpoint: number });
      endpoint.notice({ is: "refused", endpoint: number, reset: 0, error });
    }
  }

  /** Ends all of them. */
  close(error: JechoError): void {
    for (const { reject } of this.#openings.values()) reject(error);
    this.#openings.clear();
    for (const [, endpoint] of [...this.#endpoints]) void endpoint.close();
    this.#endpoints.clear();
    for (const stop of [...this.#stops.values()]) stop();
  }
}
