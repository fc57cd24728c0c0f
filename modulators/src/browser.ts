/** Runs modulators in a page. Its parts are apart, so that a page which only lends workers loads no more than that. */
import { lendWorkers as lend } from "./tiers/hosted/lent-worker.ts";
import { startProgram } from "./tiers/hosted/start-program.ts";

export { ModulatorEnvironment } from "./tiers/browser-environment.ts";
export { Lenders } from "./tiers/hosted/lent-worker.ts";

/**
 * For a page: starts workers for another place, whenever that is asked for over this port. Returns what ends that, and all that was
 * lent, where the other place is no more.
 */
export function lendWorkers(port: MessagePort): () => void {
  return lend(port, startProgram);
}
