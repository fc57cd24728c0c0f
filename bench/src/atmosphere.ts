import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { buildViewer, VIEWER_FOLDER } from "@jecho/atmosphere";
import { GatewayProcess, Process } from "./processes.ts";

/** The sample application as a user has it: a gateway that serves the page, and a simulation. */
export interface Atmosphere {
  readonly gateway: GatewayProcess;
  readonly simulation: Process;
  readonly url: string;
}

/** @param speed steps per second */
export async function startAtmosphere(speed: number, processes: Process[]): Promise<Atmosphere> {
  await buildViewer(() => {});
  const gateway = await GatewayProcess.start(["--static", VIEWER_FOLDER]);
  processes.push(gateway);
  const file = fileURLToPath(import.meta.resolve("@jecho/atmosphere/simulate"));
  const options = ["--gateway", gateway.address, "--speed", String(speed)];
  const simulation = new Process(
    fork(file, options, { execArgv: ["--no-warnings"], stdio: ["ignore", "ignore", "inherit", "ipc"] }),
  );
  processes.push(simulation);
  await once(simulation.child, "message");
  return { gateway, simulation, url: `http://localhost:${gateway.port}/` };
}
