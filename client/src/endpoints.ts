import type { JechoError } from "@jecho/shared";
import { type EventsFrame, NumberTable } from "@jecho/shared/internal";
import type { PortNotice } from "./port.ts";

/** What a session opens: a producer, a consumer, a copy of a shared object. */
export interface Endpoint {
  notice(notice: PortNotice): void;
  /** Of a consumer: a run, from its event `first` on. */
  receive?(frame: EventsFrame, first: number): void;
  close(): Promise<void>;
}

interface Opening {
  resolve(): void;
  reject(error: unknown): void;
}

/** The endpoints of a session by their numbers, and which of them are being opened. */
export class Endpoints {
  readonly #endpoints = new NumberTable<Endpoint>();
  readonly #openings = new Map<number, Opening>();
  #next = 1;

  /** The number of an endpoint to come. */
  next(): number {
    return this.#next++;
  }

  add(endpoint: Endpoint): number {
    const number = this.next();
    this.#endpoints.set(number, endpoint);
    return number;
  }

  remove(number: number): void {
    this.#endpoints.delete(number);
  }

  get(number: number): Endpoint | undefined {
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
    endpoint: Endpoint,
    signal: AbortSignal | undefined,
    ask: () => void,
  ): Promise<void> {
    signal?.throwIfAborted();
    this.#endpoints.set(number, endpoint);
    const abort = (): void => this.#openings.get(number)?.reject(signal?.reason);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#openings.set(number, { resolve, reject });
        signal?.addEventListener("abort", abort);
        ask();
      });
    } catch (error) {
      void endpoint.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#openings.delete(number);
    }
    signal?.addEventListener("abort", () => void endpoint.close(), { once: true });
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
  }
}
