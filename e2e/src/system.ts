import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { buildViewer, VIEWER_FOLDER } from "@jecho/atmosphere";

const GATEWAY = fileURLToPath(import.meta.resolve("@jecho/server/command"));
const SIMULATION = fileURLToPath(import.meta.resolve("@jecho/atmosphere/simulate"));

/** The real thing: a gateway and a simulation, each in a process of its own, and the built viewer. */
export class System {
  readonly url: string;
  readonly #port: string;
  #gateway: ChildProcess;
  readonly #options: readonly string[];
  #simulation: ChildProcess;

  private constructor(
    gateway: ChildProcess,
    simulation: ChildProcess,
    port: string,
    options: readonly string[],
  ) {
    this.#gateway = gateway;
    this.#simulation = simulation;
    this.#options = options;
    this.#port = port;
    this.url = `http://localhost:${port}/`;
  }

  /** @param options of the simulation's command */
  static async start(...options: string[]): Promise<System> {
    await buildViewer(() => {});
    const { child, address } = await startGateway("0");
    const port = address.slice(address.lastIndexOf(":") + 1);
    return new System(child, await startSimulation(port, options), port, options);
  }

  /** Ends the gateway as a crash would: nothing is said to anybody. */
  async killGateway(): Promise<void> {
    await end(this.#gateway, "SIGKILL");
  }

  /** Starts a new gateway where the old one was. */
  async restartGateway(): Promise<void> {
    this.#gateway = (await startGateway(this.#port)).child;
  }

  /** Ends the simulation as a crash would. */
  async killSimulation(): Promise<void> {
    await end(this.#simulation, "SIGKILL");
  }

  /** Starts a new simulation with the options of the old one. */
  async restartSimulation(): Promise<void> {
    this.#simulation = await startSimulation(this.#port, this.#options);
  }

  /** Derived channels at the gateway. */
  async derivedChannels(): Promise<number> {
    const answered = once(this.#gateway, "message") as Promise<[{ derivedChannels: number }]>;
    this.#gateway.send("stats");
    return (await answered)[0].derivedChannels;
  }

  async stop(): Promise<void> {
    await Promise.all([end(this.#simulation, "SIGTERM"), end(this.#gateway, "SIGTERM")]);
  }
}

async function startGateway(port: string): Promise<{ child: ChildProcess; address: string }> {
  const child = fork(GATEWAY, ["gateway", "--port", port, "--static", VIEWER_FOLDER], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(child, "exit").then(() => {
    throw new Error("the gateway ended before it listened");
  });
  ended.catch(() => {});
  const [{ address }] = (await Promise.race([once(child, "message"), ended])) as [{ address: string }];
  return { child, address };
}

async function startSimulation(port: string, options: readonly string[]): Promise<ChildProcess> {
  const simulation = fork(SIMULATION, ["--gateway", `localhost:${port}`, "--speed", "2", ...options]);
  await once(simulation, "message");
  return simulation;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
