/**
 * Workers for a place that can start none itself, such as a SharedWorker in Chromium: a page lends one. Frames go directly between
 * worker and borrower, over a port that the page passes on: they do not wait for the page.
 */
import { JechoError } from "@jecho/shared";
import type { PageHost, PageHostListener } from "./page-host.ts";
import type { WorkerFailure } from "./worker.ts";

type HostWorker = Pick<PageHost, "post" | "terminate">;
type StartHost = (listener: PageHostListener) => HostWorker | Promise<HostWorker>;

/** Most pages lend none: the part that starts one is loaded with the first. */
const startPageHost: StartHost = async listener => new (await import("./page-host.ts")).PageHost(listener);

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

/** A page that can lend workers, and those that it has lent. */
export interface Lender {
  readonly page: MessagePort;
  readonly loans: Set<{ endedWith(why: string): void }>;
}

/** The pages that lend workers to this borrower. */
export class Lenders {
  /** Pages that can lend a worker; the page asked longest ago comes first. */
  readonly #lenders = new Set<Lender>();

  /** @returns what is to be called when this page is no more: the workers that it has lent have gone with it */
  add(page: MessagePort): () => void {
    const lender: Lender = { page, loans: new Set() };
    this.#lenders.add(lender);
    return () => {
      this.#lenders.delete(lender);
      page.close();
      for (const loan of [...lender.loans]) loan.endedWith("the page that lent its worker is gone");
    };
  }

  /** Names another page each time, so that a page that is busy, or may start no workers, does not stand in the way. */
  next(): Lender | undefined {
    const [next] = this.#lenders;
    if (next === undefined) return undefined;
    this.#lenders.delete(next);
    this.#lenders.add(next);
    return next;
  }
}

export function failure(code: WorkerFailure["code"], message: string): WorkerFailure {
  return { code, message };
}
