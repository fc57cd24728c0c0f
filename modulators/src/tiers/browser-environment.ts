/** Runs modulators in a page. */
import { type ModulatorOptions, ModulatorEnvironment as SharedEnvironment } from "./environment.ts";
import type { Lenders } from "./hosted/lent-worker.ts";
import { startProgram } from "./hosted/start-program.ts";
import type { WorkerFailure } from "./hosted/worker.ts";
import { type StartWorker, workerCarrier } from "./hosted/worker-carrier.ts";
import type { HostClock } from "./periods.ts";
import type { TierEvents } from "./tier.ts";

/**
 * The modulators' environment of a page: the standard ones run in the page itself, all others in a worker, with QuickJS.
 * The page compiles no text, so its policy needs no `unsafe-eval`; the worker's needs `wasm-unsafe-eval`.
 */
export class ModulatorEnvironment extends SharedEnvironment {
  /**
   * @param clock default: the machine's
   * @param lenders the pages that start workers for this place, where it can start none itself
   */
  constructor(options: ModulatorOptions, events: TierEvents, clock?: HostClock, lenders?: Lenders) {
    const start = typeof Worker === "undefined" && lenders !== undefined ? lenders.start : startWorker;
    super({ carrier: workerCarrier(start), compile: () => undefined, clock }, options, events);
  }
}

const startWorker: StartWorker = listener => {
  const worker = startProgram();
  worker.onmessage = ({ data }: MessageEvent<Uint8Array | WorkerFailure>) => listener.message(data);
  worker.onerror = ({ message }) => listener.error(new Error(message));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    terminate: () => worker.terminate(),
    hold() {},
  };
};
