/** Runs modulators in a Node process. */
import { Worker } from "node:worker_threads";
import { CompileThread } from "./tiers/compiled/compile-thread.ts";
import { CompiledTier } from "./tiers/compiled/compiled-tier.ts";
import {
  type EnvironmentPlace,
  type ModulatorOptions,
  ModulatorEnvironment as SharedEnvironment,
} from "./tiers/environment.ts";
import type { CarrierKind } from "./tiers/hosted/carrier.ts";
import { childProcess } from "./tiers/hosted/child.ts";
import type { WorkerFailure } from "./tiers/hosted/worker.ts";
import { type StartWorker, workerCarrier } from "./tiers/hosted/worker-carrier.ts";
import { compileModule } from "./tiers/local/compile.ts";
import type { HostClock } from "./tiers/periods.ts";
import type { TierEvents } from "./tiers/tier.ts";

export { DEFAULT_LIMITS, type Limits } from "./sandbox/sandbox.ts";
export type { EnvironmentStats, ModulatorOptions } from "./tiers/environment.ts";
export type { HostClock } from "./tiers/periods.ts";
export type { InstallRequest, ModulatorStats, Tier, TierEvents } from "./tiers/tier.ts";

/** One for all environments of the process. */
const compileThread = new CompileThread();

/** The modulators' environment of a Node process: hosted modulators run in a child process, or in a thread with QuickJS. */
export class ModulatorEnvironment extends SharedEnvironment {
  /** @param clock default: the machine's */
  constructor(options: ModulatorOptions, events: TierEvents, clock?: HostClock) {
    const compiledTier: EnvironmentPlace["compiledTier"] = (tier, ...all) =>
      new CompiledTier({ ...tier, thread: compileThread }, ...all);
    super(
      { carrier: carrierOf(options.engine), compile: compileModule, compiledTier, clock },
      options,
      events,
    );
  }
}

function carrierOf(engine: ModulatorOptions["engine"]): CarrierKind {
  const worker = workerCarrier(startThread);
  if (engine === "quickjs") return worker;
  let loads = true;
  const child = childProcess(() => {
    loads = false;
  });
  if (engine === "isolated-vm") return child;
  return {
    get hungMs() {
      return loads ? child.hungMs : worker.hungMs;
    },
    start: (...all) => (loads ? child : worker).start(...all),
  };
}

const startThread: StartWorker = listener => {
  const worker = new Worker(new URL("./generated/worker.mjs", import.meta.url), {
    name: "modulators",
    env: {},
    // Nothing of the producer's flags: some are not for threads.
    execArgv: ["--no-warnings"],
    stderr: true,
  });
  worker.on("message", (message: Uint8Array | WorkerFailure) => listener.message(message));
  worker.on("error", error => listener.error(error));
  worker.on("exit", () => listener.ended());
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    terminate: () => void worker.terminate(),
    hold: held => (held ? worker.ref() : worker.unref()),
  };
};
