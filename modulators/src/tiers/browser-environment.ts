/** Runs modulators in a page. */
import { type ModulatorOptions, ModulatorEnvironment as SharedEnvironment } from "./environment.ts";
import type { Lenders } from "./hosted/lent-worker.ts";
import { startLent } from "./hosted/loan.ts";
import { type LoadSource, PageHost } from "./hosted/page-host.ts";
import { type StartWorker, workerCarrier } from "./hosted/worker-carrier.ts";
import type { HostClock } from "./periods.ts";
import type { TierEvents } from "./tier.ts";

/** Ways to start a host's worker where its file cannot be used. */
export interface HostWays {
  /** The pages that start workers for a place that cannot start any itself. */
  readonly lenders?: Lenders | undefined;
  /** Loads the program's text, for pages whose bundler left out its file. */
  readonly loadSource?: LoadSource | undefined;
}

/**
 * The modulators' environment of a page: the standard ones run in the page itself, all others in a worker, with QuickJS.
 * The page compiles no text, so its policy needs no `unsafe-eval`; the worker's needs `wasm-unsafe-eval`.
 */
export class ModulatorEnvironment extends SharedEnvironment {
  /**
   * @param clock default: the machine's
   * @param ways further ways to start a host's worker than by its file
   */
  constructor(options: ModulatorOptions, events: TierEvents, clock?: HostClock, ways: HostWays = {}) {
    const { lenders, loadSource } = ways;
    const start =
      typeof Worker === "undefined" && lenders !== undefined ? startLent(lenders) : startWorker(loadSource);
    super({ carrier: workerCarrier(start), compile: () => undefined, clock }, options, events);
  }
}

const startWorker =
  (loadSource: LoadSource | undefined): StartWorker =>
  listener =>
    new PageHost(listener, loadSource);
