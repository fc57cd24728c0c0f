/** The simulation's process: `node simulate.ts --gateway HOST:PORT [--resolution DEGREES] [--speed STEPS/S] [--month M] [--seed N] [--modulators MOST]`. */
import { parseArgs } from "node:util";
import { connect } from "@jecho/client";
import { Model } from "./model/mod.ts";
import { readWinds } from "./model/winds-file.ts";
import { checkSpeed, Simulation } from "./simulation.ts";

const { values } = parseArgs({
  options: {
    gateway: { type: "string", default: "localhost:8080" },
    resolution: { type: "string", default: "2.5" },
    speed: { type: "string", default: "2" },
    month: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    /** Viewers' modulators that it runs; the others run beside the gateway or with the viewers. Default: all. */
    modulators: { type: "string" },
  },
});

const winds = await readWinds();
const speed = Number(values.speed);
const model = makeModel();
const session = connect(values.gateway, {
  name: "atmosphere simulation",
  backoff: { mostMs: 2000 },
  // A gateway that is away for long costs the oldest steps, not the simulation.
  queue: { whenFull: "drop-oldest" },
  modulators: values.modulators === undefined ? {} : { most: Number(values.modulators) },
});
session.onStatus(({ state, error }) => {
  if (error !== undefined) console.error(`simulation: ${state}: ${error.message}`);
});
const simulation = new Simulation({ model, session, speed });
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
