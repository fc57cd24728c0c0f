import { failure, type Lender, type Lenders } from "./lent-worker.ts";
import type { WorkerFailure, WorkerMessage } from "./worker.ts";
import type { StartWorker, WorkerHandle, WorkerListener } from "./worker-carrier.ts";

/** Time that a page has to start a worker; then another page is asked. */
const START_MS = 5000;

/** Starts workers that pages lend. */
export function startLent(lenders: Lenders): StartWorker {
  return listener => new Loan(listener, lenders.next());
}

/** One worker that a page was asked for. */
class Loan implements WorkerHandle {
  readonly #listener: WorkerListener;
  readonly #loans: Lender["loans"] | undefined;
  readonly #frames = new MessageChannel();
  readonly #control = new MessageChannel();
  readonly #waiting: ReturnType<typeof setTimeout>;

  constructor(listener: WorkerListener, lender: Lender | undefined) {
    this.#listener = listener;
    this.#loans = lender?.loans;
    const refuse = (why: string) => () => listener.message(failure("MODULATORS_NOT_SERVED", why));
    if (lender === undefined) {
      this.#waiting = setTimeout(refuse("no page is there to start a worker"));
      return;
    }
    this.#waiting = setTimeout(refuse(`no page started a worker within ${START_MS} ms`), START_MS);
    lender.loans.add(this);
    this.#frames.port1.onmessage = ({ data }) => listener.message(data);
    this.#control.port1.onmessage = ({ data }: MessageEvent<WorkerFailure | null>) => {
      clearTimeout(this.#waiting);
      if (data !== null) listener.message(data);
    };
    lender.page.postMessage(null, [this.#frames.port2, this.#control.port2]);
  }

  post(message: WorkerMessage, transfer: ArrayBuffer[]): void {
    this.#frames.port1.postMessage(message, transfer);
    // The worker ends by itself.
    if (message === null) this.#forget();
  }

  terminate(): void {
    this.#control.port1.postMessage(null);
    this.#forget();
  }

  hold(): void {}

  endedWith(why: string): void {
    this.terminate();
    this.#listener.taken(why);
  }

  #forget(): void {
    clearTimeout(this.#waiting);
    this.#loans?.delete(this);
    this.#frames.port1.close();
    this.#control.port1.close();
  }
}
