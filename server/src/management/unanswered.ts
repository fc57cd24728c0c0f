import type { Connection } from "../connection.ts";
import { Deadlines } from "../deadlines.ts";
import type { GatewayInstallation, InstallationState } from "./installation.ts";

/** Which processes have not answered an installation for so long that nobody waits for them any more. */
export class Unanswered {
  readonly #deadlines: Deadlines<GatewayInstallation>;
  /** What they have not answered. */
  readonly #silent = new Map<Connection, Set<GatewayInstallation>>();

  /** @param timeoutMs that an answer is waited for */
  constructor(timeoutMs: number) {
    this.#deadlines = new Deadlines(timeoutMs, installation => installation.silent());
  }

  /** Has this process been silent for so long? Nobody waits for its next answer, either. */
  isSilent(maker: Connection): boolean {
    return this.#silent.has(maker);
  }

  /** An installation has another state than this. */
  changed(installation: GatewayInstallation, before: InstallationState): void {
    const { state } = installation;
    if (before.is === "asked") this.#deadlines.delete(installation);
    if (before.is === "silent" && before.maker !== undefined) {
      const silent = this.#silent.get(before.maker);
      silent?.delete(installation);
      if (silent?.size === 0) this.#silent.delete(before.maker);
    }
    if (state.is === "asked" && state.maker !== undefined) this.#deadlines.add(installation);
    if (state.is !== "silent" || state.maker === undefined) return;
    const silent = this.#silent.get(state.maker) ?? new Set();
    this.#silent.set(state.maker, silent.add(installation));
  }
}
