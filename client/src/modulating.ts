import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import type { ModulatorOptions } from "@jecho/modulators";
import { Backoff } from "./concentrator/backoff.ts";

/** A process beside a gateway that runs modulators for producers that run none, or no more. */
export interface ModulatingProcess {
  /** Resolves when the gateway has it, or when it has failed to start: then it is tried again. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, with everything that it ran. */
  close(): Promise<void>;
}

/** The order that the process for modulators is given first. */
export interface ModulatingOrder {
  /** `HOST:PORT` of its gateway, with `https://` before it where that has TLS. */
  readonly address: string;
  /** Token that it shows there. */
  readonly token: string;
  /** Options for running the modulators. */
  readonly modulators: ModulatorOptions;
}

const RESTART = { firstMs: 1000, mostMs: 20_000 };

/**
 * Starts the process for modulators beside a gateway, and again should it die or fail to start, after a wait with full jitter from 1 s to 20 s: the gateway's option `modulating`.
 *
 * ```ts
 * createGateway({ modulating: startModulating })
 * ```
 *
 * @param address `HOST:PORT` of the gateway, or `https://HOST:PORT`
 * @param token by which the gateway knows it
 * @param say is given each line that it says, for the gateway's log
 * @param modulators how it runs them
 */
export function startModulating(
  address: string,
  token: string,
  say: (line: string) => void = console.error,
  modulators: ModulatorOptions = {},
): ModulatingProcess {
  const order: ModulatingOrder = { address, token, modulators };
  const backoff = new Backoff(RESTART);
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let running: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  let isClosed = false;
  const gone = (): void => {
    running = undefined;
    ready.resolve();
    if (isClosed) ended.resolve();
    else restart = setTimeout(start, backoff.nextMs());
  };
  const start = (): void => {
    const child = fork(new URL("./modulation/modulating-main.ts", import.meta.url), {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // It asks for the gateway that has started it, on its own machine, whose certificate is for the names that others know it by.
      ...(address.startsWith("https:") && {
        env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" },
      }),
    });
    running = child;
    if (child.stderr !== null) createInterface(child.stderr).on("line", say);
    child.on("error", error => {
      // What is sent to one that is at its end does not reach it.
      if (child.pid !== undefined || running !== child) return;
      say(`the process for modulators cannot be started: ${error.message}`);
      gone();
    });
    child.once("message", () => {
      backoff.reset();
      ready.resolve();
    });
    child.once("exit", gone);
    if (child.connected) child.send(order);
  };
  start();
  return {
    ready: ready.promise,
    close: () => {
      if (isClosed) return ended.promise;
      isClosed = true;
      clearTimeout(restart);
      if (running === undefined) ended.resolve();
      else if (running.connected) running.disconnect();
      return ended.promise;
    },
  };
}
