import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { COLLECT_SIGNAL } from "./collecting.ts";
import { listening } from "./listening.ts";
import type { Answer, Call } from "./worker.ts";
import type { Keep } from "./workers/keeper.ts";

const START_TIMEOUT_MS = 20_000;
const CALL_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 1500;
/** /proc counts in hundredths of a second on every Linux that Node runs on. */
const TICK_MS = 10;

/** Options of Node for a process that is to collect its garbage when it is asked to. */
export const COLLECTS: readonly string[] = [
  "--expose-gc",
  "--import",
  new URL("collecting.ts", import.meta.url).href,
];

/** All that run, and the signal that ends them for certain. */
const children = new Map<ChildProcess, NodeJS.Signals>();

/** Ends all of them at once. */
export function killAll(): void {
  for (const [child, signal] of children) child.kill(signal);
}
// Whatever ends this process, nothing of it stays behind.
process.on("exit", killAll);

/** A child process and the CPU time that it has used. */
export class Process {
  readonly child: ChildProcess;

  constructor(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL") {
    this.child = child;
    children.set(child, signal);
    child.once("exit", () => children.delete(child));
  }

  /** The process that is measured. */
  get pid(): number {
    return this.child.pid as number;
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** CPU time of all its threads, user and system, in milliseconds. */
  cpuMs(): number {
    return cpuMsOf(this.pid);
  }

  /** The same, with that of all processes that it has started, whether they still run or have ended. */
  treeCpuMs(): number {
    return [this.pid, ...descendantsOf(this.pid)].reduce((sum, pid) => sum + cpuMsOf(pid, true), 0);
  }

  /** CPU time of all threads that run in it and in what it has started, in milliseconds, as exactly as the system counts it. */
  threadsCpuMs(): number {
    return [this.pid, ...descendantsOf(this.pid)].reduce((sum, pid) => sum + threadsCpuMsOf(pid), 0);
  }

  /** Has it collect its garbage, if it was started with `COLLECTS`. */
  collect(): void {
    this.child.kill(COLLECT_SIGNAL);
  }

  /** Memory that it has in use, in bytes: resident, without what it shares with others. */
  memoryBytes(): number {
    return memoryBytesOf(this.pid);
  }

  async stop(): Promise<void> {
    if (this.ended) return;
    const gone = new Promise<void>(resolve => this.child.once("exit", () => resolve()));
    const force = setTimeout(() => this.child.kill("SIGKILL"), STOP_GRACE_MS);
    this.child.kill("SIGTERM");
    await gone;
    clearTimeout(force);
  }
}

/** One of the files in workers/, called over its IPC channel. */
export class Worker extends Process {
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  readonly #name: string;
  #next = 1;

  /** @param name of the file in workers/; `args` are its command line */
  constructor(
    name: string,
    args: readonly string[] = [],
    execArgv: readonly string[] = [],
    signal?: NodeJS.Signals,
  ) {
    const file = fileURLToPath(new URL(`workers/${name}.ts`, import.meta.url));
    super(
      fork(file, args, {
        execArgv: ["--no-warnings", ...execArgv],
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        serialization: "advanced",
      }),
      signal,
    );
    this.#name = [name, ...args].join(" ");
    this.child.on("message", (answer: Answer) => {
      const pending = this.#pending.get(answer.id);
      if (answer.error === undefined) pending?.resolve(answer.result);
      else pending?.reject(new Error(`${this.#name}: ${answer.error}`));
    });
    this.child.once("exit", (code, signal) => {
      for (const { reject } of this.#pending.values())
        reject(new Error(`${this.#name} ended with ${signal ?? code}`));
    });
  }

  /** Calls one of the worker's functions. */
  async call<R = void>(method: string, argument?: unknown): Promise<R> {
    const id = this.#next++;
    const call: Call = { id, method, argument };
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<R>((resolve, reject) => {
        this.#pending.set(id, { resolve: value => resolve(value as R), reject });
        timer = setTimeout(
          () => reject(new Error(`${this.#name} did not answer "${method}" in ${CALL_TIMEOUT_MS} ms`)),
          CALL_TIMEOUT_MS,
        );
        this.child.send(call, error => {
          if (error !== null) reject(error);
        });
      });
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }
}

/** A gateway as a user starts it: the command in a process of its own. */
export class GatewayProcess extends Process {
  readonly address: string;
  readonly port: number;

  private constructor(child: ChildProcess, address: string) {
    super(child);
    this.address = address;
    this.port = Number(address.slice(address.lastIndexOf(":") + 1));
  }

  /** @param options of the command, besides the port; a free one by default. `execArgv` are Node's */
  static async start(
    options: readonly string[] = [],
    port = 0,
    execArgv: readonly string[] = [],
  ): Promise<GatewayProcess> {
    const command = fileURLToPath(import.meta.resolve("@jecho/server/command"));
    const child = fork(command, ["gateway", "--port", String(port), ...options], {
      execArgv: ["--no-warnings", ...execArgv],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    // Among the children before it has answered, so that it is stopped in any case.
    children.set(child, "SIGKILL");
    const address = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the gateway did not start")), START_TIMEOUT_MS);
      child.once("exit", code => reject(new Error(`the gateway ended with ${code}`)));
      child.once("message", (message: { address: string }) => {
        clearTimeout(timer);
        resolve(message.address);
      });
    });
    return new GatewayProcess(child, address);
  }
}

/** A program that is no Node program. A worker keeps it, so that it ends with this process in any case. */
export class CommandProcess extends Worker {
  #pid = 0;

  static async start(program: Keep): Promise<CommandProcess> {
    // One that is killed would leave the program behind.
    const process = new CommandProcess("keeper", [], [], "SIGTERM");
    try {
      process.#pid = await process.call<number>("keep", program);
    } catch (error) {
      await process.stop();
      throw error;
    }
    return process;
  }

  override get pid(): number {
    return this.#pid;
  }

  override async stop(): Promise<void> {
    if (this.ended) return;
    // The keeper goes when its program has gone: none is left that nobody waits for.
    const gone = once(this.child, "exit");
    await this.call("end").catch(() => {});
    await Promise.race([gone, delay(STOP_GRACE_MS, undefined, { ref: false })]);
    await super.stop();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await new Promise(resolve => server.close(resolve));
  return port;
}

/** CPU time of all these, in milliseconds. */
export function cpuMsOfAll(processes: readonly Process[]): number {
  return processes.reduce((sum, process) => sum + process.cpuMs(), 0);
}

/** Processes that this one has started, and that still run. */
export function childrenOf(pid: number): number[] {
  return parentsOfAll()
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child);
}

/** All processes that this one has started, and those that they have. */
export function descendantsOf(pid: number): number[] {
  const parents = parentsOfAll();
  const found = [pid];
  for (const of of found)
    found.push(...parents.filter(([, parent]) => parent === of).map(([child]) => child));
  return found.slice(1);
}

/** Each process with the one that started it. Where files tell, no program is run for it, which those that are measured would feel. */
function parentsOfAll(): [number, number][] {
  try {
    const names = readdirSync("/proc").filter(name => /^\d+$/.test(name));
    return names.map(name => [Number(name), parentOf(name)]);
  } catch {}
  try {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
    return lines.map(line => line.trim().split(/\s+/).map(Number) as [number, number]);
  } catch {
    return [];
  }
}

/** @returns 0 where it has ended meanwhile */
function parentOf(pid: string): number {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return 0;
  }
}

/** Fields of `/proc/PID/stat` behind the name, which may contain blanks and brackets. */
function statOf(pid: number | string): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function memoryBytesOf(pid: number): number {
  try {
    const [, kilobytes] = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
  }
}

/** @param withEnded adds what its children had used that have ended; only Linux tells */
function cpuMsOf(pid: number, withEnded = false): number {
  let fields: string[];
  try {
    fields = statOf(pid);
  } catch {
    return process.platform === "linux" ? 0 : cpuMsFromPs(pid);
  }
  const ticks = fields.slice(11, withEnded ? 15 : 13).map(Number);
  return ticks.reduce((sum, one) => sum + one, 0) * TICK_MS;
}

/** Linux counts what a thread has run in nanoseconds; the rest of the world in hundredths of a second. */
function threadsCpuMsOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => {
      const [ran] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ");
      return sum + Number(ran) / 1e6;
    }, 0);
  } catch {
    return cpuMsOf(pid);
  }
}

function cpuMsFromPs(pid: number): number {
  const time = execFileSync("ps", ["-o", "time=", "-p", String(pid)], { encoding: "utf8" });
  const [seconds = 0, minutes = 0, hours = 0] = time.trim().split(":").map(Number).reverse();
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
