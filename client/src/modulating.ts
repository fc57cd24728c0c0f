import { type ChildProcess, fork } from "node:child_process";
import type { ModulatorOptions } from "@jecho/modulators";

/** A process beside a gateway that runs modulators for producers that run none, or no more. */
export interface ModulatingProcess {
  /** Resolves when the gateway has it. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, with everything that it ran. */
  close(): Promise<void>;
}

/** What it is told first. */
export interface ModulatingOrder {
  /** `HOST:PORT` of its gateway. */
  readonly address: string;
  /** What it shows there. */
  readonly token: string;
  /** How it runs them. */
  readonly modulators: ModulatorOptions;
}

const RESTART_MS = 1000;

/**
 * Starts it, and again should it die: the gateway's option `modulating`.
 *
 * ```ts
 * createGateway({ modulating: startModulating })
 * ```
 *
 * @param address `HOST:PORT` of the gateway
 * @param token by which the gateway knows it
 * @param modulators how it runs them
 */
export function startModulating(
  address: string,
  token: string,
  modulators: ModulatorOptions = {},
): ModulatingProcess {
  const order: ModulatingOrder = { address, token, modulators };
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let child: ChildProcess;
  let restart: NodeJS.Timeout | undefined;
  let isClosed = false;
  const start = (): void => {
    child = fork(new URL("./modulating-main.ts", import.meta.url), {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.once("message", () => ready.resolve());
    child.once("exit", () => {
      if (isClosed) ended.resolve();
      else restart = setTimeout(start, RESTART_MS);
    });
    child.send(order);
  };
  start();
  return {
    ready: ready.promise,
    close: () => {
      if (!isClosed) {
        isClosed = true;
        clearTimeout(restart);
        if (child.exitCode !== null || child.signalCode !== null) ended.resolve();
        else if (child.connected) child.disconnect();
      }
      return ended.promise;
    },
  };
}
