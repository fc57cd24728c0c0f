import { MessageChannel, Worker } from "node:worker_threads";
import type { JechoError } from "@jecho/shared";
import { createProduction } from "../concentrator/production.ts";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import { Hubs } from "./hubs.ts";
import type { MessageEnd } from "./message-end.ts";
import type { OpenHere } from "./place.ts";

/** Hubs of the sessions whose concentrators run in this thread. */
const hubs = new Hubs({ loadProduction: () => createProduction });

/** A program may compute for minutes: its connection has a thread of its own. */
export const defaultPlace = "worker";

/** A program has no page to be shown or hidden. */
export function watchPage(_shown: () => void): () => void {
  return () => {};
}

/** Gives the code for a concentrator in this thread: a program has it all at hand. */
export function loadHere(
  _options: ConcentratorOptions,
  _away: (error: JechoError) => void,
  _signal: AbortSignal,
): OpenHere {
  return (options, listener) => hubs.of(options).attach(listener);
}

/** The thread in which the concentrators of this process' sessions run, while there is any session. */
let thread: ConcentratorThread | undefined;

/**
 * A worker thread; there is nothing here that processes could share. One serves all sessions of the process: starting it
 * takes a quarter of a second.
 */
export function startThread(_place: "worker" | "shared"): MessageEnd {
  thread ??= new ConcentratorThread(() => {
    thread = undefined;
  });
  return thread.open();
}

class ConcentratorThread {
  readonly #worker = new Worker(new URL("worker-main.ts", import.meta.url));
  readonly #left: () => void;
  readonly #failed = new Set<(why: string) => void>();

  /** @param left called when nobody may come any more: with the last session, or when the thread has died */
  constructor(left: () => void) {
    this.#left = left;
    this.#worker.on("error", error => this.#fail(error.message));
    this.#worker.on("exit", code => this.#fail(`it exited with ${code}`));
  }

  open(): MessageEnd {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage(port2, [port2]);
    let onFailed = (_why: string): void => {};
    const failed = (why: string): void => onFailed(why);
    this.#failed.add(failed);
    return {
      sharesMemory: true,
      post: (message, transfer) => port1.postMessage(message, transfer),
      listen: (receive, failed) => {
        port1.on("message", receive);
        onFailed = why => {
          port1.close();
          failed(why);
        };
      },
      close: () => {
        port1.close();
        this.#failed.delete(failed);
        if (this.#failed.size > 0) return;
        this.#left();
        // It ends by itself when its connections have.
        this.#worker.postMessage(undefined);
      },
    };
  }

  #fail(why: string): void {
    if (this.#failed.size === 0) return;
    this.#left();
    const failed = [...this.#failed];
    this.#failed.clear();
    for (const tell of failed) tell(why);
  }
}
