import { fifo } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import type { TierEvents } from "@jecho/modulators/node";
import { encodeEvent } from "@jecho/shared";
import { encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { ModulatorEnvironment } from "#environment";
import { BASE, encodeEvents, grid, layerOf, runOf } from "./grid.ts";
import { modulator } from "./rig.ts";

const OTHER = BASE + 1;

test("what is fed to others while a run is handed out has its own tag, and what follows of the run still has the run's", async () => {
  const event = encodeEvent(grid, layerOf(1, 0));
  const header = { channel: OTHER, producer: 7, raised: 0, token: grid.token, parameters: 0, flags: 0 };
  const other = runOf(encodeRun(header, [{ bytes: event, start: 0, end: event.byteLength }]));
  const heard: unknown[] = [];
  const events: TierEvents = {
    onEvents: (_, derived, tag) => {
      heard.push([derived, tag]);
      if (derived === 1) environment.enqueue(other, "inner");
    },
    onCall() {},
    onRemoved() {},
    onDone: tag => heard.push(tag),
  };
  await using environment = new ModulatorEnvironment({ local: true }, events);
  const twice = modulator(
    "enqueue(event) { super.enqueue(urgent({ step: 1 })); super.enqueue({ step: 2 }); }",
  );
  const two = { ...twice, source: twice.source.replace("FifoModulator }", "FifoModulator, urgent }") };
  for (const [derived, channel, made] of [
    [1, BASE, two],
    [2, OTHER, fifo().modulator],
  ] as const) {
    expect(environment.trust(made.source)).toBe(true);
    const table = modulatorTable(made);
    await environment.install({ derived, channel, schema: grid.schema, modulator: table, behind: 0 });
  }
  environment.enqueue(runOf(encodeEvents([layerOf(1, 0)])), "outer");
  expect(heard).toEqual([[1, "outer"], [2, "inner"], "inner", [1, "outer"], [2, "inner"], "inner", "outer"]);
});
