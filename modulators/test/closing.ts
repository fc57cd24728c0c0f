/** A program with nothing to wait for but the end of its modulators' environment, which has none any more: says that it has come. */
import { writeSync } from "node:fs";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment, type ModulatorOptions } from "@jecho/modulators/node";
import { grid } from "./grid.ts";
import { modulator } from "./rig.ts";

const engine = process.argv[2] as ModulatorOptions["engine"];
const environment = new ModulatorEnvironment({ engine }, { onEvents() {}, onRemoved() {} });
const table = modulatorTable(modulator(""));
await environment.install({ derived: 1, channel: 1, schema: grid.schema, modulator: table });
environment.remove(1);
await environment.settled();
await environment.close();
writeSync(1, "closed");
