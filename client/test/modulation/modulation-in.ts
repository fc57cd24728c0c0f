import type { Modulator } from "@jecho/modulators";
import { type Environment, modulatorTable, type TierEvents } from "@jecho/modulators/internal";
import type { Install } from "@jecho/shared/internal";
import { Modulation } from "../../src/modulation/modulation.ts";
import type { ModulationEvents } from "../../src/modulation/modulation-events.ts";

/** The modulators of a process that makes its environment so. */
export function modulationIn(
  createEnvironment: (events: TierEvents) => Environment | Promise<Environment>,
  events: Partial<ModulationEvents>,
): Modulation {
  return new Modulation(createEnvironment, Number.POSITIVE_INFINITY, {
    room: bytes => new Uint8Array(bytes),
    onEvents: () => undefined,
    onSeen() {},
    onUnseen() {},
    feedFor: source => source,
    onOrdered() {},
    onRefused() {},
    onInstalled() {},
    onAgain() {},
    onStatement() {},
    onRestarted() {},
    together: act => act(),
    onDone() {},
    onFurther() {},
    onAnswer() {},
    onDemand() {},
    onFeed: () => Promise.resolve(),
    onUnfed() {},
    schemaOf: () => undefined,
    onState() {},
    onNeeds() {},
    onPull() {},
    onCall() {},
    ...events,
  });
}

/** A request to run this modulator in the stead of process 3, on channel 1. */
export function installOf(modulator: Modulator): Install {
  return {
    kind: "Install",
    request: 5,
    channel: 1,
    derived: 2,
    modulator: modulatorTable(modulator),
    offers: [],
    behind: 0,
    timeMs: 0,
    by: "",
    instead: {
      process: 3,
      base: "a",
      input: "a",
      producers: [4],
      schema: new Uint8Array(0),
      own: false,
      direct: false,
      sources: [],
    },
  };
}
