import { Worker } from "node:worker_threads";

/** Keeps every processor of the machine busy several times over, until it is disposed of. */
export class BusyMachine implements AsyncDisposable {
  readonly #threads: readonly Worker[];

  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () => new Worker("for (;;);", { eval: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.terminate()));
  }
}
