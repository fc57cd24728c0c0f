/** A producer that has used up its file descriptors: says what became of a hosted modulator, and of another one when there are some again, as JSON. */
import { closeSync, openSync, writeSync } from "node:fs";
import { fifo } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { JechoError } from "@jecho/shared";
import { grid } from "./grid.ts";

const environment = new ModulatorEnvironment({ local: false }, { onEvents() {}, onRemoved() {} });

async function install(derived: number): Promise<string> {
  try {
    const modulator = modulatorTable(fifo().modulator);
    await environment.install({ derived, channel: 1, schema: grid.schema, modulator });
    return "installed";
  } catch (error) {
    return JechoError.from(error).code;
  }
}

const opened: number[] = [];
try {
  for (;;) opened.push(openSync("/dev/null", "r"));
} catch {
  // There are no more.
}
const without = await install(1);
for (const file of opened) closeSync(file);
writeSync(1, JSON.stringify([without, await install(2)]));
await environment.close();
