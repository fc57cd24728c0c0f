/** `npm start`: the gateway in one process, or several, the simulation in another, and the address of the page. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createToken, createTokenKeys } from "@jecho/server";
import { buildViewer, VIEWER_FOLDER } from "./build-viewer.ts";
import { NatsServer } from "./nats-server.ts";
import { CHANNELS } from "./types.ts";
import { makeUsers, SIMULATION } from "./users.ts";

const USAGE = `npm start -- [options]

  --port NUMBER          port of the page and the gateway (8080, or a free one where that is taken)
  --host ADDRESS         where to listen (127.0.0.1: this machine only; 0.0.0.0: for whoever reaches it, too)
  --resolution DEGREES   of the model's grid; divides 180 evenly (2.5)
  --speed STEPS          of the model per second, 0.1 to 20 (2)
  --month MONTH          to begin with, 0 to 12: 0 is mid-January, 0.5 the end of January (0)
  --users                the gateway wants tokens: prints three addresses, for one who looks on, one who steers, and an operator
  --cluster NUMBER       so many gateways, 2 to 9, at ports one after the other, which share channels by a NATS server beside them
  --checkpoint FILE      where the simulation's state is kept, and what it goes on from (a file that goes with this program:
                         a simulation that crashes goes on, one that is started anew does not)`;

const values = readOptions();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const RESTART_MS = 1000;
/** A page of a cluster's may use nothing but its gateway, as any page, and connect to the others. */
const PAGE_POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'";
const PARENT_CHECK_MS = 500;
const children = new Set<ChildProcess>();
const folder = mkdtempSync(join(tmpdir(), "atmosphere-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let stopping = false;

await buildViewer(line => console.log(line));
const users = values.users ? await makeUsers({ createTokenKeys, createToken }) : undefined;
const gateway = fileURLToPath(import.meta.resolve("@jecho/server/command"));
const addresses = await orEnd(values.cluster === undefined ? startGateway() : startCluster(values.cluster));
const [address] = addresses as [string, ...string[]];
const local = pageAt(address.replace(/^(127\.0\.0\.1|0\.0\.0\.0):/, "localhost:"));
await orEnd(startSimulation());
if (users === undefined) {
  console.log(`\n  The atmosphere is at  http://${local}`);
  for (const reachable of networkAddresses()) console.log(`  and for other devices  http://${reachable}`);
} else {
  // A token stands behind the #, which no browser sends to any server; the page takes it out of its address at once.
  for (const { subject, may, token } of users.users) {
    console.log(`\n  The ${subject} ${may}:`);
    for (const at of [local, ...networkAddresses()]) console.log(`  http://${at}#token=${token}`);
  }
  if (networkAddresses().length > 0)
    console.log("\n  Whoever listens on the network reads these tokens: the addresses are not https.");
}
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
        cluster: { type: "string" },
        checkpoint: { type: "string" },
        users: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.cluster !== undefined && !/^[2-9]$/.test(values.cluster))
      throw new Error(`--cluster takes a number from 2 to 9, not "${values.cluster}"`);
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

/** Addresses at which other devices of the network reach the page, if the gateway listens at all of this machine's addresses. */
function networkAddresses(): string[] {
  return networkHosts().map(host => pageAt(`${host}:${portOf(address)}`));
}

function networkHosts(): string[] {
  if (values.host !== "0.0.0.0") return [];
  const networks = Object.values(networkInterfaces()).flatMap(network => network ?? []);
  return networks
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address);
}

/** The page at a gateway; it is told the ports of the others. */
function pageAt(address: string): string {
  const others = addresses.slice(1).map(portOf);
  return `${address}/${others.length === 0 ? "" : `?others=${others.join(",")}`}`;
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}

async function startGateway(): Promise<string[]> {
  const wanted = values.port ?? "8080";
  try {
    return [await keepGateway(wanted)];
  } catch (error) {
    if (values.port !== undefined) throw error;
    console.log(`port ${wanted} is taken; taking a free one`);
    return [await keepGateway("0")];
  }
}

async function startCluster(count: string): Promise<string[]> {
  const first = Number(values.port ?? "8080");
  const ports = await Promise.all(
    Array.from({ length: Number(count) }, (_, i) => (first === 0 ? freePort() : first + i)),
  );
  const nats = await keepNats(await freePort());
  const names = ["localhost", "127.0.0.1", ...networkHosts()];
  const origins = names.flatMap(name => ports.map(port => `http://${name}:${port}`));
  const others = ports.flatMap(port => [`http://*:${port}`, `ws://*:${port}`]).join(" ");
  const options = [
    ...["--cluster-nats", nats],
    ...origins.flatMap(origin => ["--origin", origin]),
    ...["--content-policy", `${PAGE_POLICY}; connect-src 'self' ${others}`],
  ];
  return Promise.all(ports.map(port => keepGateway(String(port), options)));
}

/** Starts a NATS server, and starts it again with what it has stored should it ever die. */
async function keepNats(port: number): Promise<string> {
  const { child, address } = await NatsServer.start({ folder: join(folder, "nats"), port });
  children.add(child);
  child.once("exit", () => children.delete(child));
  console.log(`nats-server runs as process ${child.pid}`);
  supervise(child, "nats-server", () => keepNats(port));
  return address;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a gateway, and starts it again at the same port should it ever die. */
async function keepGateway(port: string, options: readonly string[] = []): Promise<string> {
  const where = ["--host", values.host, "--port", port, ...access(), ...options];
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
  if (options.length > 0) console.log(`the gateway at port ${portOf(address)} runs as process ${child.pid}`);
  supervise(child, "gateway", () => keepGateway(portOf(address), options));
  return address;
}

/** Options of the gateway that say who may do what. */
function access(): string[] {
  // A user who gives another host than the usual has read what that means.
  if (users === undefined) return ["--open"];
  const owners = [CHANNELS.ozone, CHANNELS.status].flatMap(channel => [
    "--owner",
    `${channel}=${SIMULATION}`,
  ]);
  return ["--keys", secret("jecho.key.pub", JSON.stringify(users.checking)), ...owners];
}

/** Writes a file that nobody else on this machine reads. */
function secret(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

async function startSimulation(): Promise<void> {
  const { resolution, speed, month } = values;
  const checkpoint = values.checkpoint ?? join(folder, "checkpoint");
  const gateways = addresses.flatMap(address => ["--gateway", address]);
  const options = [...gateways, "--resolution", resolution, "--speed", speed, "--month", month];
  options.push("--checkpoint", checkpoint);
  if (users !== undefined) options.push("--token", secret("simulation.token", users.simulation));
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
