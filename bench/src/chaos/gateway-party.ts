import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { HAS_CLOCK } from "../clock.ts";
import { childrenOf, Process } from "../processes.ts";
import type { ChaosGatewayOptions } from "../workers/chaos-gateway.ts";

const MOST_LINES = 200;
const MOST_STARTS = 20;
const RESTART_MS = 500;
const MOST_END_MS = 30_000;
const FILE = fileURLToPath(new URL("../workers/chaos-gateway.ts", import.meta.url));

/** The gateway, started again as often as it ends. */
export class GatewayParty {
  /** Newest lines that gateways said to their operator. */
  readonly log: string[] = [];
  /** The gateway found its file's structure damaged: how much of the past went with that nobody knows. */
  hasSalvaged = false;
  /** Its history lacks events that it had: modulators beside it make again what consumers have of those and of what came with them. */
  lacksRows = false;
  /** How often it did not come to run. */
  failedStarts = 0;
  /** Whether something that waited for its consumers when it was told to end did not go out in time. */
  #leftSome = false;
  readonly #options: ChaosGatewayOptions;
  #process: Process | undefined;
  #port: number;

  private constructor(options: ChaosGatewayOptions, port: number) {
    this.#options = options;
    this.#port = port;
  }

  /** @param port a free one */
  static async start(options: ChaosGatewayOptions, port: number): Promise<GatewayParty> {
    const party = new GatewayParty(options, port);
    await party.start();
    return party;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number | undefined {
    return this.#process?.ended === false ? this.#process.pid : undefined;
  }

  /** The process that runs modulators beside it. */
  get modulating(): number | undefined {
    return this.pid === undefined ? undefined : childrenOf(this.pid)[0];
  }

  /** Starts it, again and again where it does not come to run. */
  async start(): Promise<void> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.#start();
      } catch (error) {
        this.failedStarts++;
        if (tried === MOST_STARTS) throw error;
        await delay(RESTART_MS);
      }
    }
  }

  async #start(): Promise<void> {
    const child = fork(FILE, [JSON.stringify({ ...this.#options, port: this.#port })], {
      execArgv: ["--no-warnings", ...HAS_CLOCK],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#process = new Process(child);
    this.#listen(child);
    const ended = once(child, "exit").then(([code, signal]) => {
      throw new Error(`the gateway ended with ${signal ?? code}`);
    });
    ended.catch(() => {});
    const started = new Promise<void>(resolve =>
      child.on("message", (message: { address?: string }) => message.address && resolve()),
    );
    await Promise.race([started, ended]);
  }

  /** Ends it by this signal, and waits until it has ended. @returns whether everybody had all that it had for them */
  async end(signal: NodeJS.Signals): Promise<boolean> {
    const child = this.#process?.child;
    if (child === undefined || this.pid === undefined) return false;
    this.#leftSome = false;
    const gone = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => {
      this.log.push(`it did not end by ${signal}`);
      child.kill("SIGKILL");
    }, MOST_END_MS);
    await gone;
    clearTimeout(late);
    // Its last lines come before that.
    if (child.connected) await once(child, "disconnect");
    return signal === "SIGTERM" && !this.#leftSome;
  }

  /** Sets its clock so far ahead of the machine's. */
  async setClock(clockMs: number): Promise<void> {
    if (this.pid !== undefined) this.#process?.child.send({ clockMs });
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  #listen(child: ChildProcess): void {
    const say = (line: string): void => {
      this.log.push(line);
      if (line.includes(" is damaged ")) this.hasSalvaged = true;
      if (line.includes("cannot be read, and is told")) this.lacksRows = true;
      if (line.includes("had not taken all")) this.#leftSome = true;
      if (this.log.length > MOST_LINES) this.log.shift();
    };
    child.on("message", ({ log }: { log?: string }) => log !== undefined && say(log));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => say(text.trimEnd()));
    child.once("exit", (code, signal) => say(`ended with ${signal ?? code}`));
  }
}
