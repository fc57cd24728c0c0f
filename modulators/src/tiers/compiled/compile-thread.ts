import { Worker } from "node:worker_threads";
import type { CompileAnswer, CompileRequest } from "./compiler.ts";

/** Time for one text, with the thread's start, in ms. A text of the greatest length took 60 ms on a cold engine. */
const MOST_MS = 10_000;
/** Memory for what a text is made of, in MiB. */
const MOST_MIB = 128;
/** Time without requests after which the thread ends, in ms. */
const REST_MS = 10_000;

interface AskedText {
  readonly request: CompileRequest;
  readonly answered: (answer: CompileAnswer | undefined) => void;
}

/**
 * The thread that reads and compiles texts for a process, so that nobody's text holds the producers' own. A text that takes it too much time or memory is
 * refused, and the others are begun again in a new one.
 */
export class CompileThread {
  /** The first is being answered. */
  readonly #asked: AskedText[] = [];
  #worker: Worker | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @returns undefined where this process may have no threads */
  async answerTo(request: CompileRequest): Promise<CompileAnswer | undefined> {
    const answer = new Promise<CompileAnswer | undefined>(answered =>
      this.#asked.push({ request, answered }),
    );
    if (this.#asked.length === 1) this.#next();
    return await answer;
  }

  #next(): void {
    clearTimeout(this.#timer);
    const [first] = this.#asked;
    const ended =
      first === undefined
        ? () => this.#end()
        : () => this.#failed(`it is not compiled within ${MOST_MS / 1000} s`);
    this.#timer = setTimeout(ended, first === undefined ? REST_MS : MOST_MS);
    this.#timer.unref();
    // The process goes on while somebody waits for an answer, and no longer.
    if (first === undefined) return this.#worker?.unref();
    try {
      this.#worker ??= this.#started();
      this.#worker.ref();
      this.#worker.postMessage(first.request);
    } catch {
      this.#answer(undefined);
    }
  }

  #started(): Worker {
    const worker = new Worker(new URL("../../generated/compiling.mjs", import.meta.url), {
      name: "compiler",
      env: {},
      // Nothing of the producer's flags: some are not for threads.
      execArgv: ["--no-warnings"],
      resourceLimits: { maxOldGenerationSizeMb: MOST_MIB },
    });
    const failed = (why: string): void => {
      if (worker === this.#worker) this.#failed(why);
    };
    worker.on("message", (answer: CompileAnswer) => {
      if (worker === this.#worker) this.#answer(answer);
    });
    worker.on("messageerror", error => failed(error.message));
    worker.on("error", error => failed(error.message));
    worker.on("exit", () => failed("its thread has ended"));
    return worker;
  }

  #failed(why: string): void {
    this.#end();
    const face = { why: `it cannot be compiled: ${why}`, line: 0, column: 0 };
    this.#answer({ face, verdicts: [], hasFailed: true });
  }

  #answer(answer: CompileAnswer | undefined): void {
    this.#asked.shift()?.answered(answer);
    this.#next();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }
}
