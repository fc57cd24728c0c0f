/** `npm start`: the gateway in one process, the simulation in another, and the address of the page. */
import { type ChildProcess, fork } from "node:child_process";
import { networkInterfaces } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildViewer, VIEWER_FOLDER } from "./build-viewer.ts";

const USAGE = `npm start -- [options]

  --port NUMBER          port of the page and the gateway (8080, or a free one where that is taken)
  --host ADDRESS         where to listen (127.0.0.1: this machine only; 0.0.0.0: for whoever reaches it, too)
  --resolution DEGREES   of the model's grid; divides 180 evenly (2.5)
  --speed STEPS          of the model per second, 0.1 to 20 (2)
  --month MONTH          to begin with, 0 to 12: 0 is mid-January, 0.5 the end of January (0)`;

const values = readOptions();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const RESTART_MS = 1000;
const PARENT_CHECK_MS = 500;
const children = new Set<ChildProcess>();
let stopping = false;

await buildViewer(line => console.log(line));
const gateway = fileURLToPath(import.meta.resolve("@jecho/server/command"));
const address = await orEnd(startGateway());
const local = address.replace(/^(127\.0\.0\.1|0\.0\.0\.0):/, "localhost:");
await orEnd(startSimulation());
console.log(`\n  The atmosphere is at  http://${local}/`);
for (const reachable of networkAddresses()) console.log(`  and for other devices  http://${reachable}/`);
console.log("\n  Ctrl-C ends it.");

process.once("SIGINT", stop);
process.once("SIGTERM", stop);
// npm hands signals to a shell that hands them to nobody: without its parent this process has no reason to run.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) stop();
}, PARENT_CHECK_MS).unref();

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: "string" },
        host: { type: "string", default: "127.0.0.1" },
        resolution: { type: "string", default: "2.5" },
        speed: { type: "string", default: "2" },
        month: { type: "string", default: "0" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** Without one of its parts the whole does not start: the part has said why. */
async function orEnd<T>(started: Promise<T>): Promise<T> {
  try {
    return await started;
  } catch (error) {
    console.error((error as Error).message);
    stop();
    process.exit(1);
  }
}

/** Where other devices of the network reach the page, if the gateway listens at all of this machine's addresses. */
function networkAddresses(): string[] {
  if (values.host !== "0.0.0.0") return [];
  const port = address.slice(address.lastIndexOf(":"));
  const networks = Object.values(networkInterfaces()).flatMap(network => network ?? []);
  return networks
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address: own }) => own + port);
}

async function startGateway(): Promise<string> {
  const wanted = values.port ?? "8080";
  try {
    return await keepGateway(wanted);
  } catch (error) {
    if (values.port !== undefined) throw error;
    console.log(`port ${wanted} is taken; taking a free one`);
    return keepGateway("0");
  }
}

/** Starts the gateway, and starts it again at the same port should it ever die. */
async function keepGateway(port: string): Promise<string> {
  // Who gives another host than the usual has read what that means.
  const where = ["--host", values.host, "--open", "--port", port];
  const child = fork(gateway, ["gateway", ...where, "--static", VIEWER_FOLDER], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const said: string[] = [];
  child.stderr?.on("data", chunk => {
    said.push(String(chunk));
    // Where any port will do, a taken one is nothing to complain of.
    if (values.port !== undefined || !said.join("").includes("cannot listen")) process.stderr.write(chunk);
  });
  const { address } = await firstMessage<{ address: string }>(child, "gateway");
  supervise(child, "gateway", () => keepGateway(address.slice(address.lastIndexOf(":") + 1)));
  return address;
}

async function startSimulation(): Promise<void> {
  const { resolution, speed, month } = values;
  const options = ["--gateway", address, "--resolution", resolution, "--speed", speed, "--month", month];
  const child = fork(fileURLToPath(new URL("simulate.ts", import.meta.url)), options, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await firstMessage(child, "simulation");
  supervise(child, "simulation", startSimulation);
}

function firstMessage<T>(child: ChildProcess, name: string): Promise<T> {
  children.add(child);
  return new Promise((resolve, reject) => {
    child.once("message", message => resolve(message as T));
    child.once("exit", code => {
      children.delete(child);
      reject(new Error(`the ${name} could not be started (it ended with code ${code})`));
    });
  });
}

function supervise(child: ChildProcess, name: string, again: () => Promise<unknown>): void {
  child.once("exit", (code, signal) => {
    if (stopping) return;
    console.error(`the ${name} ended (${signal ?? `code ${code}`}); starting it again`);
    const retry = (): void => {
      if (stopping) return;
      again().catch((error: unknown) => {
        console.error((error as Error).message);
        setTimeout(retry, RESTART_MS);
      });
    };
    setTimeout(retry, RESTART_MS);
  });
}

function stop(): void {
  stopping = true;
  for (const child of children) child.kill("SIGTERM");
}
