import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GatewayLog } from "../operations/gateway-log.ts";
import { tryPort } from "../web/listening.ts";
import type { GatewayStats } from "./gateway-limits.ts";

/** Time until a worker that ended by itself is started again: a random part of this, doubled each time, and at most. */
const [FIRST_BACKOFF_MS, MOST_BACKOFF_MS] = [100, 10_000];
/** A worker that has run for so long begins with the shortest time again. */
const STEADY_MS = 10_000;
/** Time that a worker has to end, besides what it drains. */
const END_MS = 10_000;
/** Interval of looks whether workers have found one another, and the time that they have for it. */
const [LOOK_MS, TOGETHER_MS] = [50, 30_000];
/** Time that a worker has to say whom it reaches. */
const ANSWER_MS = 2000;

export interface WorkersOptions {
  readonly count: number;
  readonly host: string;
  readonly port: number;
  readonly drainMs: number;
  /** The first one's port for operators, which those of the others follow; undefined: they have none. */
  readonly operationsPort: number | undefined;
  /** Beginning of the names of the files that they keep histories in. */
  readonly historyFile: string | undefined;
  /** Whether they find one another by NATS, as they do gateways elsewhere. */
  readonly isByNats: boolean;
  /** The command's program, and its words: each worker is started with these, and some of its own behind them. */
  readonly program: string;
  readonly words: readonly string[];
  readonly log: GatewayLog;
  /** Is told of each process. */
  readonly say: (line: string) => void;
}

/**
 * The processes of one gateway: they listen at one port and share channels, as a cluster's gateways do, over loopback. One that ends by itself is started
 * again.
 */
export class Workers {
  /** Address of all of them. */
  readonly address: string;
  readonly #workers: readonly Worker[];
  readonly #log: GatewayLog;
  readonly #clean: () => Promise<void>;
  #reloading = Promise.resolve();
  #isStopping = false;

  private constructor(
    address: string,
    workers: readonly Worker[],
    log: GatewayLog,
    clean: () => Promise<void>,
  ) {
    this.address = address;
    this.#workers = workers;
    this.#log = log;
    this.#clean = clean;
  }

  /** @throws Error where the port cannot be had, or a worker does not start, which has said why */
  static async start(options: WorkersOptions): Promise<Workers> {
    const { count, host, operationsPort, historyFile, isByNats, log } = options;
    // Whoever else has the port must not be joined.
    const port = await tryPort(host, options.port);
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    // The gateway's identity comes of it, and is to last as long as its histories.
    const secret = historyFile === undefined ? join(folder, "secret") : `${historyFile}-secret`;
    if (!existsSync(secret)) await writeFile(secret, randomBytes(32).toString("hex"), { mode: 0o600 });
    const members: string[] = [];
    while (!isByNats && members.length < count) members.push(`127.0.0.1:${await tryPort("127.0.0.1", 0)}`);
    const list = members.flatMap(member => ["--cluster", member]);
    const workers = Array.from({ length: count }, (_, i) => {
      const words = ["--workers", "1", "--port", String(port), "--share-port"];
      if (operationsPort) words.push("--operations-port", String(operationsPort + i));
      if (historyFile !== undefined) words.push("--history", `${historyFile}-${i + 1}`);
      if (!isByNats) words.push(...list, "--cluster-self", members[i] as string, "--cluster-secret", secret);
      return new Worker(`worker ${i + 1}`, words, options);
    });
    const clean = (): Promise<void> => rm(folder, { recursive: true, force: true });
    try {
      // What is wrong with the settings is said once.
      const address = await (workers[0] as Worker).begin();
      await Promise.all(workers.slice(1).map(worker => worker.begin()));
      const all = new Workers(address, workers, log, clean);
      await all.#allTogether();
      return all;
    } catch (error) {
      await Promise.all(workers.map(worker => worker.end()));
      await clean();
      throw error;
    }
  }

  /** Exchanges the workers one by one, each when the one before it is there and knows the others. Resolves when all are, or one does not start. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#exchange());
    return this.#reloading;
  }

  /** Ends all of them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#workers.map(worker => worker.end()));
    await this.#clean();
  }

  async #exchange(): Promise<void> {
    for (const worker of this.#workers) {
      await worker.end();
      if (this.#isStopping) return;
      try {
        await worker.begin();
      } catch {
        worker.beginAgain();
        return this.#log.error({}, `${worker.name} does not start: the others go on as they are`);
      }
      await this.#allTogether();
    }
    this.#log.warn({}, `${this.#workers.length} workers have been exchanged`);
  }

  /** Resolves when all know one another. */
  async #allTogether(): Promise<void> {
    const lateAt = performance.now() + TOGETHER_MS;
    while (!this.#isStopping) {
      const answers = await Promise.all(this.#workers.map(worker => worker.gateways()));
      // A worker that hangs is not waited for: to be exchanged may be what helps.
      const counts = answers.filter(count => count !== undefined);
      // By NATS there may be others.
      const [first = 0] = counts;
      if (first >= counts.length && counts.every(count => count === first)) return;
      if (performance.now() > lateAt)
        return this.#log.warn({}, `workers have not found one another for ${TOGETHER_MS} ms`);
      await delay(LOOK_MS);
    }
  }
}

/** One of the processes, or none while it waits to be started again. */
class Worker {
  readonly name: string;
  readonly #words: readonly string[];
  readonly #options: WorkersOptions;
  #child: ChildProcess | undefined;
  #isWanted = false;
  /** Times in a row that it has been started again. */
  #failures = 0;
  #again: NodeJS.Timeout | undefined;
  /** The answer to how many gateways it reaches, where that has been asked. */
  #answer: Promise<number> | undefined;

  constructor(name: string, words: readonly string[], options: WorkersOptions) {
    this.name = name;
    this.#words = words;
    this.#options = options;
  }

  /** Starts it. @returns its address, when it takes clients @throws Error where it ends before that */
  async begin(): Promise<string> {
    const { program, words, log, say } = this.#options;
    this.#isWanted = true;
    const child = fork(program, [...words, ...this.#words], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.on("error", () => {});
    if (child.pid === undefined) throw new Error("the system starts no more processes");
    this.#child = child;
    child.once("exit", () => {
      this.#child = undefined;
    });
    const { address } = await messageOf<{ address: string }>(child);
    say(`${this.name} runs as process ${child.pid}`);
    const readyAt = performance.now();
    child.once("exit", (code, signal) => {
      if (performance.now() - readyAt > STEADY_MS) this.#failures = 0;
      if (this.#isWanted) log.error({}, `${this.name} ended (${signal ?? `code ${code}`})`);
      this.beginAgain();
    });
    return address;
  }

  /** Starts it again in a while, and again until it runs, unless it has been told to end. */
  beginAgain(): void {
    if (!this.#isWanted) return;
    const mostMs = Math.min(FIRST_BACKOFF_MS * 2 ** this.#failures++, MOST_BACKOFF_MS);
    this.#again = setTimeout(() => {
      this.begin().catch(() => this.beginAgain());
    }, mostMs * Math.random());
  }

  /** Ends it as SIGTERM does, for certain in the end. Resolves when it has gone. */
  async end(): Promise<void> {
    this.#isWanted = false;
    clearTimeout(this.#again);
    const child = this.#child;
    if (child === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), this.#options.drainMs + END_MS);
    await gone;
    clearTimeout(late);
  }

  /** Number of gateways that it reaches, with itself; 0 where it does not run, and undefined where it does not answer. */
  async gateways(): Promise<number | undefined> {
    const child = this.#child;
    if (child?.connected !== true) return 0;
    this.#answer ??= this.#ask(child).finally(() => {
      this.#answer = undefined;
    });
    return Promise.race([this.#answer, delay(ANSWER_MS, undefined, { ref: false })]);
  }

  #ask(child: ChildProcess): Promise<number> {
    const answer = messageOf<GatewayStats>(child);
    // Where that fails it ends.
    child.send("stats", () => {});
    return answer.then(
      ({ gateways }) => gateways,
      () => 0,
    );
  }
}

/** The next message of a process. @throws Error where it ends before */
function messageOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const came = (message: unknown): void => {
      child.off("exit", gone);
      resolve(message as T);
    };
    const gone = (): void => {
      child.off("message", came);
      reject(new Error("a worker ended before it was ready"));
    };
    child.once("message", came);
    child.once("exit", gone);
  });
}
