import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** `jecho gateway --workers 2`, and what it has said. */
export class Workers {
  readonly child: ChildProcess;
  readonly address: string;
  readonly #said: () => string;

  private constructor(child: ChildProcess, address: string, said: () => string) {
    this.child = child;
    this.address = address;
    this.#said = said;
  }

  static async start(...options: readonly string[]): Promise<Workers> {
    const words = ["gateway", "--workers", "2", "--port", "0", ...options];
    const child = spawn(process.execPath, ["--no-warnings", MAIN, ...words], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", chunk => (said += chunk));
    onTestFinished(() => void child.kill("SIGTERM"));
    const address = await new Promise<string>((resolve, reject) => {
      child.once("message", (ready: { address: string }) => resolve(ready.address));
      child.once("close", () => reject(new Error(said)));
    });
    return new Workers(child, address, () => said);
  }

  get said(): string {
    return this.#said();
  }

  /** The newest process of each worker. */
  get processes(): readonly number[] {
    const lines = this.said.matchAll(/^worker (\d+) runs as process (\d+)$/gm);
    return [...new Map(Array.from(lines, ([, number, pid]) => [number, Number(pid)])).values()];
  }

  async end(): Promise<number | null> {
    const exited = once(this.child, "exit");
    this.child.kill("SIGTERM");
    return (await exited)[0] as number | null;
  }
}
