/** A producer whose modulator hangs where no timeout reaches; says its host's process id and waits to be killed. */
import { writeSync } from "node:fs";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { encodeEvents, grid, layerOf, runOf } from "./grid.ts";
import { modulator } from "./rig.ts";

const host = new ModulatorEnvironment({ limits: { callMs: 60_000 } }, { onEvents() {}, onRemoved() {} });
const hanging = modulator("enqueue() { for (;;); }");
await host.install({ derived: 1, channel: 1, schema: grid.schema, modulator: modulatorTable(hanging) });
host.enqueue(runOf(encodeEvents([layerOf(1, 0)])));
writeSync(1, String(host.stats.pid));
setInterval(() => {}, 1000);
