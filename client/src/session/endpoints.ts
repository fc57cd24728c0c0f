import type { JechoError } from "@jecho/shared";
import { type EventsFrame, NumberTable } from "@jecho/shared/internal";
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
  /** Ends the listening to the signals of those that have one. */
  readonly #stops = new Map<number, () => void>();
  readonly #onClosed: (() => void) | undefined;
  #next = 1;
  /** A run for a consumer, from its event `first` on. Once all are closed nobody gets any. */
  readonly receive = (number: number, frame: EventsFrame, first: number): void =>
    this.#endpoints.get(number)?.receive?.(frame, first);

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

  get(number: number): SessionEndpoint | undefined {
    return this.#endpoints.get(number);
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

  opened(notice: Extract<PortNotice, { is: "opened" }>): void {
    this.#endpoints.get(notice.endpoint)?.notice(notice);
    this.#openings.get(notice.endpoint)?.resolve();
  }

  /** @returns did anybody wait for it to be opened? */
  refused(notice: Extract<PortNotice, { is: "refused" }>): boolean {
    this.#endpoints.get(notice.endpoint)?.notice(notice);
    const opening = this.#openings.get(notice.endpoint);
    opening?.reject(notice.error);
    return opening !== undefined;
  }

  /** None of them will hear of the gateway again. */
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
