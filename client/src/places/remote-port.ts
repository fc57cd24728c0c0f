import { JechoError } from "@jecho/shared";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import { atEndOfTurn } from "../platform/face.ts";
import { addHandled, fromPlain, type Handled, type MessageEnd, type ToPlace } from "./message-end.ts";
import type { PlacePort, PortListener, PortRequest } from "./port.ts";
import { visitRuns } from "./run-batch.ts";

/** Bytes of taken events after which a place is told again. */
const TAKEN_STEP_BYTES = 256 << 10;

export interface RemotePortEvents {
  onReady(): void;
  /** The other side could not begin, or ended without having been asked to. */
  onFailed(error: JechoError): void;
}

/** The application's end of a port to a concentrator in another thread. */
export class RemotePort implements PlacePort {
  readonly #end: MessageEnd;
  readonly #listener: PortListener;
  readonly #events: RemotePortEvents;
  readonly #closed = Promise.withResolvers<void>();
  readonly #receiveRun: PortListener["receive"];
  readonly #sendHandled = (): void => this.#flushHandled();
  #isClosing = false;
  #taken = 0;
  /** Ends of handlers in this turn. */
  #handled: Handled = [];

  constructor(
    end: MessageEnd,
    options: ConcentratorOptions,
    listener: PortListener,
    events: RemotePortEvents,
  ) {
    this.#end = end;
    this.#listener = listener;
    this.#receiveRun = (endpoint, frame, first) => listener.receive(endpoint, frame, first);
    this.#events = events;
    end.listen(
      message => this.#receive(message as unknown[]),
      why => this.#failed(why),
    );
    // A function cannot pass: another thread has a randomness of its own.
    const { random: _, ...backoff } = options.backoff;
    this.#send({ is: "attach", options: { ...options, backoff } });
  }

  post(request: PortRequest): void {
    if (request.is === "handled") {
      if (this.#handled.length === 0) atEndOfTurn(this.#sendHandled);
      addHandled(this.#handled, request);
      return;
    }
    this.#flushHandled();
    this.#send(request.is === "wake" ? 2 * request.queue + (request.now ? 1 : 0) : request);
  }

  memory(bytes: number): SharedArrayBuffer | undefined {
    return this.#end.sharesMemory ? new SharedArrayBuffer(bytes) : undefined;
  }

  close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#flushHandled();
      this.#send({ is: "close" });
    }
    return this.#closed.promise;
  }

  /** Posts the ends of handlers, in the order of the requests. */
  #flushHandled(): void {
    if (this.#handled.length === 0) return;
    const handled = this.#handled;
    this.#handled = [];
    this.#send(handled);
  }

  #send(message: ToPlace): void {
    if (typeof message === "object" && "is" in message && message.is === "records")
      this.#end.post(message, [message.bytes.buffer]);
    else this.#end.post(message);
  }

  #receive(messages: unknown[]): void {
    for (const plain of messages) {
      if (plain instanceof ArrayBuffer) {
        this.#taken += visitRuns(plain, this.#receiveRun);
        continue;
      }
      const notice = fromPlain(plain);
      if (notice.is === "ready") this.#events.onReady();
      else if (notice.is === "closed") {
        this.#end.close();
        this.#closed.resolve();
      } else this.#listener.notify(notice);
    }
    if (this.#taken < TAKEN_STEP_BYTES) return;
    this.#send({ is: "eventsTaken", bytes: this.#taken });
    this.#taken = 0;
  }

  #failed(why: string): void {
    this.#closed.resolve();
    if (!this.#isClosing)
      this.#events.onFailed(new JechoError("CONNECTION_LOST", `the thread of the connection ended: ${why}`));
  }
}
