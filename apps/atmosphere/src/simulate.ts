/** The simulation's process: `node simulate.ts --gateway HOST:PORT... [--resolution DEGREES] [--speed STEPS/S] [--month M] [--seed N] [--modulators MOST] [--checkpoint FILE] [--token FILE]`. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { connect } from "@jecho/client";
import { Checkpoint } from "./checkpoint.ts";
import { Model } from "./model/mod.ts";
import { readWinds } from "./model/winds-file.ts";
import { checkSpeed, Simulation, type SimulationState } from "./simulation.ts";

const { values } = parseArgs({
  options: {
    /** Several share channels: it goes on at the next one where one is away. */
    gateway: { type: "string", multiple: true, default: ["localhost:8080"] },
    resolution: { type: "string", default: "2.5" },
    speed: { type: "string", default: "2" },
    month: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    /** Viewers' modulators that it runs; the others run beside the gateway or with the viewers. Default: all. */
    modulators: { type: "string" },
    /** File that keeps its state, and that it goes on from where there is one. Default: the state is not kept. */
    checkpoint: { type: "string" },
    /** A file with the token that it shows to the gateway. Default: none. */
    token: { type: "string" },
  },
});

const winds = await readWinds();
const speed = Number(values.speed);
const model = makeModel();
const { token: tokenFile } = values;
const [gateway, ...others] = values.gateway as [string, ...string[]];
const session = connect(gateway, {
  others,
  ...(tokenFile !== undefined && { token: async () => (await readFile(tokenFile, "utf8")).trim() }),
  name: "atmosphere simulation",
  backoff: { mostMs: 2000 },
  // A gateway that is away for long costs the oldest steps, not the simulation: a step is 1.5 MB, and a cluster may take some seconds.
  queue: { whenFull: "drop-oldest", bytes: 64 << 20 },
  modulators: {
    // To pack the view of a layer, of 37 KiB, takes a modulator longer than to filter small events.
    mostPerEvent: 2_000_000,
    ...(values.modulators !== undefined && { most: Number(values.modulators) }),
  },
});
session.onStatus(({ state, error }) => {
  if (error !== undefined) console.error(`simulation: ${state}: ${error.message}`);
});
const checkpoint = values.checkpoint === undefined ? undefined : new Checkpoint(values.checkpoint);
const simulation = makeSimulation(await readCheckpoint());
const stop = (): void => {
  simulation.close();
  void session.close();
  if (process.connected) process.disconnect();
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
process.once("disconnect", stop);
await simulation.start();
process.send?.("running");

/** A state that cannot be gone on from costs the past, and nothing else. */
async function readCheckpoint(): Promise<SimulationState | undefined> {
  try {
    return await checkpoint?.read();
  } catch (error) {
    console.error(`simulation: it begins anew: ${(error as Error).message}`);
    return undefined;
  }
}

function makeSimulation(from: SimulationState | undefined): Simulation {
  const onCheckpoint = (state: SimulationState): void => {
    checkpoint?.save(state).catch((error: Error) => {
      console.error(`simulation: its state could not be kept: ${error.message}`);
    });
  };
  const kept = checkpoint === undefined ? {} : { onCheckpoint };
  try {
    return new Simulation({ model, session, speed, from, ...kept });
  } catch (error) {
    if (from === undefined || !(error instanceof RangeError)) throw error;
    console.error(`simulation: it begins anew: ${error.message}`);
    return new Simulation({ model, session, speed, ...kept });
  }
}

function makeModel(): Model {
  try {
    checkSpeed(speed);
    return new Model({
      winds,
      resolution: Number(values.resolution),
      month: Number(values.month),
      seed: Number(values.seed),
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    console.error(`simulation: ${error.message}`);
    process.exit(2);
  }
}
