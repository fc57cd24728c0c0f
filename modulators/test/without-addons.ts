/** A producer in a process that loads no native code: says what became of a hosted modulator, as JSON. */
import { writeSync } from "node:fs";
import { fifo } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment, type ModulatorOptions } from "@jecho/modulators/node";
import { JechoError } from "@jecho/shared";
import { encodeEvents, grid, layerOf, runOf } from "./grid.ts";

const engine = process.argv[2] as ModulatorOptions["engine"];
let frames = 0;
const environment = new ModulatorEnvironment(
  { local: false, engine },
  {
    onEvents() {
      frames++;
    },
    onRemoved() {},
  },
);
try {
  const { modulator } = fifo();
  await environment.install({
    derived: 1,
    channel: 1,
    schema: grid.schema,
    modulator: modulatorTable(modulator),
  });
  environment.enqueue(runOf(encodeEvents([layerOf(1, 0)])));
  await environment.settled();
  // A host in a thread has no process of its own.
  writeSync(1, JSON.stringify({ frames, isProcess: environment.stats.pid !== undefined }));
} catch (error) {
  writeSync(1, JSON.stringify({ frames, code: JechoError.from(error).code }));
}
await environment.close();
