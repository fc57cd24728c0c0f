/** Runs modulators in a page. Its parts are apart, so that a page which only lends workers loads no more than that. */
import { lendWorkers as lend } from "./host/lent-worker.ts";
import { startProgram } from "./start-program.ts";

export { ModulatorEnvironment } from "./browser-environment.ts";
export { Lenders } from "./host/lent-worker.ts";

/**
 * For a page: starts workers for another place, whenever that is asked for over this port. Returns what ends that, and all that was
 * lent, where the other place is no more.
 */
export function lendWorkers(port: MessagePort): () => void {
  return lend(port, startProgram);
}
