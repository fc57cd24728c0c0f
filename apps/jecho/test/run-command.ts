import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** Output of a command, and how it ended. */
interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command `jecho`. @param input what it reads @param during is given what it has printed so far, and what ends it */
export async function runCommand(
  args: readonly string[],
  {
    input = "",
    during,
  }: { input?: string; during?: (out: () => string, end: () => void) => Promise<void> } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, ["--no-warnings", MAIN, ...args], { stdio: "pipe" });
  let [out, err] = ["", ""];
  child.stdout.on("data", chunk => (out += chunk));
  child.stderr.on("data", chunk => (err += chunk));
  child.stdin.end(input);
  const closed = once(child, "close");
  await during?.(
    () => out,
    () => child.kill("SIGINT"),
  );
  const [code] = (await closed) as [number | null];
  return { code, out, err };
}
