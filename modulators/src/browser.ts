/** Runs modulators in a page. What runs them is loaded when the first one comes: most pages only subscribe. */
import type { HostWays } from "./tiers/browser-environment.ts";
import type { ModulatorOptions } from "./tiers/environment.ts";
import type { Environment, TierEvents } from "./tiers/tier.ts";

export { Lenders, lendWorkers } from "./tiers/hosted/lent-worker.ts";

/** Loads and makes the modulators' environment of a page, or of a worker of pages. */
export async function createEnvironment(
  options: ModulatorOptions,
  events: TierEvents,
  ways?: HostWays,
): Promise<Environment> {
  const { ModulatorEnvironment } = await import("./tiers/browser-environment.ts");
  return new ModulatorEnvironment(options, events, undefined, ways);
}

/** Loads the text of the host's program. Only a page asks for it: where a worker runs, its bundler knows of workers. */
export async function loadHostSource(): Promise<string> {
  return (await import("./generated/worker-source.mjs")).WORKER_SOURCE;
}
