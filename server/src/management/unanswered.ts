import type { Connection } from "../connections/connection.ts";
import { Deadlines } from "../connections/deadlines.ts";

/** An installation, as far as its process is waited for. */
interface Answerable {
  readonly state: AnswerState;
  /** The process has not answered in time. */
  silent(): void;
}

type AnswerState = { readonly is: string; readonly maker?: Connection | undefined };

/** The processes that nobody waits for any more, since they have not answered an installation. */
export class Unanswered {
  readonly #deadlines: Deadlines<Answerable>;
  /** Installations that these processes have not answered. */
  readonly #silent = new Map<Connection, Set<Answerable>>();

  /** @param timeoutMs that an answer is waited for */
  constructor(timeoutMs: number) {
    this.#deadlines = new Deadlines(timeoutMs, installation => installation.silent());
  }

  /** Whether this process has been silent for so long. Nobody waits for its next answer, either. */
  isSilent(maker: Connection): boolean {
    return this.#silent.has(maker);
  }

  /** An installation has another state than this. */
  changed(installation: Answerable, before: AnswerState): void {
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
