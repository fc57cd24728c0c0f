import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort, type Process, startCommand } from "./processes.ts";

const NATS_PACKAGE = "github.com/nats-io/nats-server/v2@v2.12.1";
const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));
const INSTALL_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 5000;

/** A broker that is no npm package, running, with its WebSocket port. */
export interface Broker {
  readonly process: Process;
  readonly port: number;
}

/** What stands in the way is told, and the run goes on without it. */
export class MissingBroker extends Error {}

/** nats-server out of PATH, or else built from the Go module proxy into bench/.cache. @throws MissingBroker */
export async function startNats(): Promise<Broker> {
  const command = findCommand("nats-server", [join(CACHE, "bin")]) ?? (await installNats());
  const [port, webPort] = [await freePort(), await freePort()];
  const config = [
    `listen: "127.0.0.1:${port}"`,
    `websocket { listen: "127.0.0.1:${webPort}", no_tls: true }`,
    "max_payload: 16MB",
    "max_pending: 256MB",
    'ping_interval: "30m"',
  ];
  return startBroker("nats-server", command, webPort, config, file => ["-c", file]);
}

/** mosquitto, where the machine has it. @throws MissingBroker */
export async function startMosquitto(): Promise<Broker> {
  const command = findCommand("mosquitto", ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"]);
  if (command === undefined) throw new MissingBroker("mosquitto is not installed (Debian package mosquitto)");
  const port = await freePort();
  const config = [
    // Started as root, it would want an account of its own.
    `user ${userInfo().username}`,
    `listener ${port} 127.0.0.1`,
    "protocol websockets",
    "allow_anonymous true",
    "max_queued_messages 0",
    "set_tcp_nodelay true",
    "log_type error",
  ];
  return startBroker("mosquitto", command, port, config, file => ["-c", file]);
}

async function startBroker(
  name: string,
  command: string,
  port: number,
  config: readonly string[],
  args: (file: string) => readonly string[],
): Promise<Broker> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-bench-"));
  try {
    const file = join(folder, `${name}.conf`);
    await writeFile(file, `${config.join("\n")}\n`);
    const process = startCommand(command, args(file));
    let failure = "";
    process.child.once("error", error => {
      failure = error.message;
    });
    const until = performance.now() + START_TIMEOUT_MS;
    while (!(await answers(port))) {
      if (failure !== "" || process.child.exitCode !== null || performance.now() > until) {
        await process.stop();
        throw new MissingBroker(`${name} did not start${failure === "" ? "" : `: ${failure}`}`);
      }
      await delay(50);
    }
    return { process, port };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function installNats(): Promise<string> {
  const go = findCommand("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new MissingBroker("nats-server is not installed, nor Go to build it with");
  await mkdir(CACHE, { recursive: true });
  const env = { ...process.env, GOBIN: join(CACHE, "bin"), GOFLAGS: "-mod=mod" };
  try {
    await promisify(execFile)(go, ["install", NATS_PACKAGE], {
      cwd: CACHE,
      env,
      timeout: INSTALL_TIMEOUT_MS,
    });
  } catch (error) {
    throw new MissingBroker(`nats-server could not be built: ${(error as Error).message.split("\n")[0]}`);
  }
  return join(CACHE, "bin", "nats-server");
}

function findCommand(name: string, folders: readonly string[]): string | undefined {
  return [...(process.env["PATH"] ?? "").split(delimiter), ...folders]
    .map(folder => join(folder, name))
    .find(path => existsSync(path));
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
