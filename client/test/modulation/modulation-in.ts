import type { Environment, TierEvents } from "@jecho/modulators/internal";
import { Modulation } from "../../src/modulation/modulation.ts";
import type { ModulationEvents } from "../../src/modulation/modulation-events.ts";

/** One in a process that makes its environment so. */
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
