// Children in groups of their own, so that a suite's whole offspring can be stopped with it.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";

const marker = "JECHO_TEST_RUN";
const graceMs = 5_000;
const orphanCheckMs = 500;

export interface Outcome {
  /** Exit code; 128 + the signal's number where a signal ended it. */
  code: number;
}

/** A command that runs, and the mark in the environment of all that it started. */
interface Running {
  readonly leader: number;
  readonly mark: string;
}

/**
 * Runs commands with no input, and leaves none of their processes behind: neither when a command ends by itself, nor when this
 * process is told to stop.
 */
export class ProcessGroup {
  readonly #running = new Set<Running>();
  #stopped: NodeJS.Signals | undefined;

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => this.#stop(signal));
    }
    process.on("exit", () => this.#killAll("SIGKILL"));
    // A signal to npm alone ends npm and the shell between, which passes nothing on: then this process is an orphan.
    const parent = process.ppid;
    if (process.env["npm_lifecycle_event"]) {
      setInterval(() => process.ppid === parent || this.#stop("SIGTERM"), orphanCheckMs).unref();
    }
  }

  /** The signal that told this process to stop, if one did. No command runs any more then. */
  get stopped(): NodeJS.Signals | undefined {
    return this.#stopped;
  }

  /** @param output "lines": what it writes comes line by line, as it does where there is no terminal, between that of others */
  async run(
    command: string,
    args: string[],
    env: Record<string, string> = {},
    output: "inherit" | "lines" = "inherit",
  ): Promise<Outcome> {
    if (this.#stopped) return { code: 128 + constants.signals[this.#stopped] };
    const mark = randomUUID();
    const stdio = output === "lines" ? "pipe" : "inherit";
    const child = spawn(command, args, {
      stdio: ["ignore", stdio, stdio],
      detached: process.platform !== "win32",
      env: { ...process.env, ...env, [marker]: mark },
    });
    child.stdout?.pipe(process.stdout, { end: false });
    child.stderr?.pipe(process.stderr, { end: false });
    const running = child.pid === undefined ? undefined : { leader: child.pid, mark: `${marker}=${mark}` };
    if (running !== undefined) this.#running.add(running);
    const closed = new Promise(resolve => child.once("close", resolve));
    const code = await new Promise<number>(resolve => {
      child.once("error", error => {
        console.error(`${command} could not be started: ${error.message}`);
        resolve(1);
      });
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGTERM"]));
    });
    if (running !== undefined) {
      kill(running, "SIGKILL");
      this.#running.delete(running);
      // All that it wrote has been passed on.
      await closed;
    }
    return { code };
  }

  #stop(signal: NodeJS.Signals): void {
    if (this.#stopped) return this.#killAll("SIGKILL");
    this.#stopped = signal;
    this.#killAll("SIGTERM");
    setTimeout(() => this.#killAll("SIGKILL"), graceMs).unref();
  }

  #killAll(signal: NodeJS.Signals): void {
    for (const running of this.#running) kill(running, signal);
  }
}

function kill({ leader, mark }: Running, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? leader : -leader, signal);
  } catch {
    // The group is gone already.
  }
  // A browser or a model may sit in a group of its own: there the mark in its environment finds it. SIGTERM is left
  // to its parent, which knows how to close it.
  if (signal === "SIGKILL") for (const pid of marked(mark)) killQuietly(pid);
}

function marked(mark: string): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .map(Number)
    .filter(pid => pid > 0 && pid !== process.pid && environmentOf(pid).includes(mark));
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended between being seen and being stopped.
  }
}
