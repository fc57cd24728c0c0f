/**
 * Workers for a place that can start none itself, such as a SharedWorker in Chromium: a page lends one. Frames go directly between
 * worker and borrower, over a port that the page passes on: they do not wait for the page.
 */
import { JechoError } from "@jecho/shared";
import type { PageHost, PageHostListener } from "./page-host.ts";
import type { WorkerFailure, WorkerMessage } from "./worker.ts";
import type { StartWorker, WorkerHandle, WorkerListener } from "./worker-carrier.ts";

type HostWorker = Pick<PageHost, "post" | "terminate">;
type StartHost = (listener: PageHostListener) => HostWorker | Promise<HostWorker>;

/** Most pages lend none: the part that starts one is loaded with the first. */
const startPageHost: StartHost = async listener => new (await import("./page-host.ts")).PageHost(listener);

/** Time that a page has to start a worker; then another page is asked. */
const START_MS = 5000;

/**
 * Lends workers of a page: starts one whenever that is asked for over this port. A worker ends when the borrower says
 * so, or with the page.
 *
 * @param start starts a worker with the host's program
 * @returns ends that, and all that was lent, for a borrower that is no more
 */
export function lendWorkers(port: MessagePort, start: StartHost = startPageHost): () => void {
  const lent = new Set<HostWorker>();
  let isOver = false;
  port.onmessage = async ({ ports }) => {
    const [frames, control] = ports as [MessagePort, MessagePort];
    try {
      const worker = await start({
        // Its messages go to the borrower.
        message() {},
        error: ({ message }) =>
          control.postMessage(failure("MODULATOR_FAILED", `the host died while it ran: ${message}`)),
      });
      if (isOver) return worker.terminate();
      lent.add(worker);
      control.onmessage = () => {
        worker.terminate();
        lent.delete(worker);
        control.close();
      };
      worker.post(null, [frames]);
      control.postMessage(null);
    } catch (error) {
      const { code, message } = JechoError.from(error, "MODULATORS_NOT_SERVED");
      control.postMessage(failure(code, message));
    }
  };
  return () => {
    isOver = true;
    port.close();
    for (const worker of lent) worker.terminate();
  };
}

/** The pages that lend workers to this borrower. */
export class Lenders {
  /** Pages that can lend a worker; the page asked longest ago comes first. */
  readonly #pages = new Map<MessagePort, Set<Loan>>();

  /** @returns what is to be called when this page is no more: the workers that it has lent have gone with it */
  add(page: MessagePort): () => void {
    const loans = new Set<Loan>();
    this.#pages.set(page, loans);
    return () => {
      this.#pages.delete(page);
      page.close();
      for (const loan of [...loans]) loan.endedWith("the page that lent its worker is gone");
    };
  }

  /** Asks another page each time, so that a page that is busy, or may start no workers, does not stand in the way. */
  readonly start: StartWorker = listener => {
    const [next] = this.#pages;
    if (next === undefined) return new Loan(listener, undefined, new Set());
    const [page, loans] = next;
    this.#pages.delete(page);
    this.#pages.set(page, loans);
    return new Loan(listener, page, loans);
  };
}

/** One worker that a page was asked for. */
class Loan implements WorkerHandle {
  readonly #listener: WorkerListener;
  readonly #loans: Set<Loan>;
  readonly #frames = new MessageChannel();
  readonly #control = new MessageChannel();
  readonly #waiting: ReturnType<typeof setTimeout>;

  constructor(listener: WorkerListener, page: MessagePort | undefined, loans: Set<Loan>) {
    this.#listener = listener;
    this.#loans = loans;
    const refuse = (why: string) => () => listener.message(failure("MODULATORS_NOT_SERVED", why));
    if (page === undefined) {
      this.#waiting = setTimeout(refuse("no page is there to start a worker"));
      return;
    }
    this.#waiting = setTimeout(refuse(`no page started a worker within ${START_MS} ms`), START_MS);
    loans.add(this);
    this.#frames.port1.onmessage = ({ data }) => listener.message(data);
    this.#control.port1.onmessage = ({ data }: MessageEvent<WorkerFailure | null>) => {
      clearTimeout(this.#waiting);
      if (data !== null) listener.message(data);
    };
    page.postMessage(null, [this.#frames.port2, this.#control.port2]);
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
    this.#loans.delete(this);
    this.#frames.port1.close();
    this.#control.port1.close();
  }
}

function failure(code: WorkerFailure["code"], message: string): WorkerFailure {
  return { code, message };
}
