import type { Connection } from "../connections/connection.ts";
import { Deadlines } from "../connections/deadlines.ts";

/** The part of an installation that is used here. */
interface Answerable {
  readonly state: AnswerState;
  /** Called when the process has not answered in time. */
  silent(): void;
}

type AnswerState = { readonly is: string; readonly maker?: Connection | undefined };

/** The processes that are no longer waited for, because they did not answer an installation. */
export class Unanswered {
  readonly #deadlines: Deadlines<Answerable>;
  /** Installations that these processes have not answered. */
  readonly #silent = new Map<Connection, Set<Answerable>>();

  /** @param timeoutMs longest time for an answer */
  constructor(timeoutMs: number) {
    this.#deadlines = new Deadlines(timeoutMs, installation => installation.silent());
  }

  /** Whether this process did not answer in time. Its next answer is not waited for, either. */
  isSilent(maker: Connection): boolean {
    return this.#silent.has(maker);
  }

  /** An installation changed from this state. */
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
