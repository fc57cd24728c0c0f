import { JechoError } from "@jecho/shared";
import type { Limits } from "../../sandbox/sandbox.ts";
import type { Blame, Carrier, CarrierKind, CarrierListener } from "./carrier.ts";
import type { WorkerFailure, WorkerMessage } from "./worker.ts";

/** The common part of Node's worker threads and a page's Worker. */
export interface WorkerHandle {
  post(message: WorkerMessage, transfer: ArrayBuffer[]): void;
  terminate(): void;
  hold(held: boolean): void;
}

export interface WorkerListener {
  message(message: Uint8Array | WorkerFailure): void;
  /** Called with an uncaught error of the worker; `ended` may still follow. */
  error(error: Error): void;
  /** Called when the worker has ended. A page's worker never says so. */
  ended(): void;
  /** Called when the worker has ended through no fault of its own or of its modulators. */
  taken(why: string): void;
}

/** A way to start a worker with the host's program. */
export type StartWorker = (listener: WorkerListener) => WorkerHandle;

export function workerCarrier(startWorker: StartWorker): CarrierKind {
  return {
    // No other thread watches its calls: only silence tells that it hangs.
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
