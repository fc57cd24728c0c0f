import { JechoError } from "@jecho/shared";
import type { WorkerFailure, WorkerMessage } from "./worker.ts";
import type { WorkerHandle, WorkerListener } from "./worker-carrier.ts";

export type PageHostListener = Pick<WorkerListener, "message" | "error">;

/** A message posted before the program runs. It is kept, for transferred memory cannot be posted twice. */
interface EarlyMessage {
  readonly message: WorkerMessage;
  readonly transfer: Transferable[];
}

const OPTIONS = { type: "module", name: "modulators" } as const;

/** Loads the program's text, for where its file is not there. */
export type LoadSource = () => Promise<string>;

/**
 * A page's worker with the modulator host's program. Bundlers that do not know workers, such as esbuild, leave out the
 * program's file; then it is started from its text.
 */
export class PageHost implements WorkerHandle {
  readonly #listener: PageHostListener;
  readonly #loadSource: LoadSource | undefined;
  #worker: Worker | undefined;
  /** Undefined once the program runs. */
  #kept: EarlyMessage[] | undefined = [];
  #isTerminated = false;

  /** @throws JechoError `MODULATORS_NOT_SERVED` where no worker can be started */
  constructor(listener: PageHostListener, loadSource?: LoadSource) {
    if (typeof Worker === "undefined") {
      const here = "no worker can be started where this producer's concentrator runs";
      throw new JechoError("MODULATORS_NOT_SERVED", here);
    }
    this.#listener = listener;
    this.#loadSource = loadSource;
    try {
      // Bundlers look for these very words, the options among them.
      const worker = new Worker(new URL("../../generated/worker.mjs", import.meta.url), {
        type: "module",
        name: "modulators",
      });
      this.#begin(worker, error => void this.#beginFromSource(error));
    } catch (error) {
      void this.#beginFromSource(error as Error);
    }
  }

  post(message: WorkerMessage, transfer: Transferable[]): void {
    if (this.#kept === undefined) this.#worker?.postMessage(message, transfer);
    else this.#kept.push({ message, transfer });
  }

  terminate(): void {
    this.#isTerminated = true;
    this.#worker?.terminate();
  }

  hold(): void {}

  #begin(worker: Worker, failed: (error: Error) => void): void {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Uint8Array | WorkerFailure | null>) => {
      if (data !== null) return this.#listener.message(data);
      // The program runs.
      for (const { message, transfer } of this.#kept ?? []) worker.postMessage(message, transfer);
      this.#kept = undefined;
    };
    worker.onerror = ({ message = "its program could not be loaded" }) => {
      const error = new Error(message);
      if (this.#kept === undefined) this.#listener.error(error);
      else failed(error);
    };
  }

  /** @param why the reason why the file could not be used */
  async #beginFromSource(why: Error): Promise<void> {
    const failed = (error: Error): void => this.#listener.error(error);
    if (this.#loadSource === undefined) return failed(why);
    try {
      const source = await this.#loadSource();
      if (this.#isTerminated) return;
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      this.#begin(new Worker(url, OPTIONS), failed);
    } catch (error) {
      failed(error as Error);
    }
  }
}
