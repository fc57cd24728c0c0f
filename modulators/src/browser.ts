/** Runs modulators in a page. */
import { JechoError } from "@jecho/shared";
import { type ModulatorOptions, ModulatorEnvironment as SharedEnvironment } from "./environment.ts";
import { Lenders, lendWorkers as lend } from "./host/lent-worker.ts";
import type { WorkerFailure } from "./host/serve-worker.ts";
import { type StartWorker, workerCarrier } from "./host/worker-carrier.ts";
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

export { Lenders };

/**
 * For a page: starts workers for another place, whenever that is asked for over this port. Returns what ends that, and all that was
 * lent, where the other place is no more.
 */
export function lendWorkers(port: MessagePort): () => void {
  return lend(port, startProgram);
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

function startProgram(): Worker {
  if (typeof Worker === "undefined") {
    const here = "no worker can be started where this producer's concentrator runs";
    throw new JechoError("MODULATORS_NOT_SERVED", here);
  }
  return new Worker(new URL("./generated/worker-web.mjs", import.meta.url), {
    type: "module",
    name: "modulators",
  });
}
