import { JechoError } from "@jecho/shared";
import type { Limits } from "../../sandbox/sandbox.ts";
import type { Blame, Carrier, CarrierKind, CarrierListener } from "./carrier.ts";
import type { WorkerFailure, WorkerMessage } from "./worker.ts";

/** A worker thread of Node or a page's Worker, as far as they agree. */
export interface WorkerHandle {
  post(message: WorkerMessage, transfer: ArrayBuffer[]): void;
  terminate(): void;
  hold(held: boolean): void;
}

export interface WorkerListener {
  message(message: Uint8Array | WorkerFailure): void;
  /** An error that nobody caught there; `ended` may still follow. */
  error(error: Error): void;
  /** The worker has ended. A page's worker never says so. */
  ended(): void;
  /** The worker has ended, which was neither its doing nor that of what it ran. */
  taken(why: string): void;
}

/** A way to start a worker with the host's program. */
export type StartWorker = (listener: WorkerListener) => WorkerHandle;

export function workerCarrier(startWorker: StartWorker): CarrierKind {
  return {
    // Nothing beside it knows what it is at and what that takes, so only silence tells.
    hungMs: 5000,
    start: (limits, limitBytes, listener) => new WorkerCarrier(startWorker, limits, limitBytes, listener),
  };
}

/** The modulator host as a worker. */
class WorkerCarrier implements Carrier {
  readonly pid = undefined;
  readonly #worker: WorkerHandle;
  readonly #listener: CarrierListener;
  #error: JechoError | undefined;
  #ended = false;

  constructor(start: StartWorker, limits: Limits, limitBytes: number, listener: CarrierListener) {
    this.#listener = listener;
    this.#worker = start({
      message: message => {
        if (this.#ended) return;
        if (!(message instanceof Uint8Array)) this.#fail(new JechoError(message.code, message.message));
        else if (message.byteLength <= limitBytes) listener.frame(message);
        else this.kill();
      },
      error: ({ message }) =>
        this.#fail(new JechoError("MODULATOR_FAILED", `the host died while it ran: ${message}`)),
      ended: () => this.#end("modulator"),
      taken: why => {
        this.#error ??= new JechoError("MODULATOR_FAILED", why);
        this.#end("nobody");
      },
    });
    this.#worker.post({ limits }, []);
  }

  send(frame: Uint8Array): void {
    const own = frame.slice();
    this.#worker.post(own, [own.buffer]);
  }

  finish(): void {
    this.#worker.post(null, []);
  }

  kill(): void {
    this.#worker.terminate();
    queueMicrotask(() => this.#end(this.#error === undefined ? "anybody" : "modulator"));
  }

  hold(held: boolean): void {
    this.#worker.hold(held);
  }

  #fail(error: JechoError): void {
    this.#error ??= error;
    this.kill();
  }

  #end(blame: Blame): void {
    if (this.#ended) return;
    this.#ended = true;
    const error = this.#error ?? new JechoError("MODULATOR_FAILED", "the host died while it ran");
    this.#listener.exit({ error, blame });
  }
}
