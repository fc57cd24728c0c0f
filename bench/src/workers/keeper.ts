// Starts a program that knows nothing of us, and ends it when our process has gone, however it went.
import { type ChildProcess, spawn } from "node:child_process";
import { serve } from "../worker.ts";

export interface Keep {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

let kept: ChildProcess | undefined;
process.once("exit", () => kept?.kill("SIGKILL"));

serve({
  /** Answers with the process id. */
  keep({ command, args, env }: Keep) {
    const child = spawn(command, args, { stdio: "ignore", env: { ...process.env, ...env } });
    kept = child;
    // What it ends with is nobody's business; that it has ended is.
    child.once("exit", () => process.exit());
    return new Promise<number>((resolve, reject) => {
      child.once("spawn", () => resolve(child.pid as number));
      child.once("error", reject);
    });
  },
  /** This process ends with it. */
  end: () => void kept?.kill("SIGKILL"),
});
