import type { Value } from "@jecho/modulators";
import type { TierEvents } from "@jecho/modulators/internal";
import type { Installation } from "./installation.ts";
import type { Installations } from "./installations.ts";
import type { ModulationEvents } from "./modulation-events.ts";
import type { Runs } from "./runs.ts";

/** The parts that the environment's notices concern. */
export interface Concerned {
  readonly installed: Installations;
  readonly runs: Runs;
  readonly events: ModulationEvents;
  /** Base channels of modulators, from before their installation until their removal: calls in that time count, too. */
  readonly callers: Map<number, string>;
  /** The environment no longer has a modulator. */
  forget(installation: Installation): void;
}

/** Turns the environment's notices, which name a modulator by its hosted number, into calls about its installation. */
export function environmentEvents({ installed, runs, events, callers, forget }: Concerned): TierEvents {
  return {
    room: events.room,
    together: events.together,
    onEvents: (run, _derived, tag, isLast) => runs.made(run, tag, isLast),
    onSeen: (hosted, of) => runs.seen(hosted, of),
    onUnseen: () => events.onUnseen(),
    onGathered(hosted) {
      const installation = installed.get(hosted);
      if (installation !== undefined) events.onStatement(installation);
    },
    onDone: tag => runs.done(tag),
    onCall(hosted, name, values) {
      const installation = installed.get(hosted);
      const base = callers.get(hosted);
      if (name !== "pull" && base !== undefined) events.onCall(base, name, values);
      else if (installation !== undefined) pull(installation, values[0], events);
    },
    onImpaired(hosted, why) {
      const installation = installed.get(hosted);
      if (installation === undefined) return;
      const { number: code, message } = why;
      const { number: derived, only } = installation;
      const isRestart = why.code === "MODULATOR_RESTARTED";
      if (only !== undefined && !isRestart)
        only.listener.notify({ is: "impaired", endpoint: only.id, error: why });
      if (derived !== 0) events.onAnswer({ kind: "Impaired", derived, code, message });
      if (isRestart) events.onRestarted(installation);
    },
    onTier(hosted, { tier, why: tierWhy }) {
      const { number: derived = 0, process = 0, opening } = installed.get(hosted) ?? {};
      // An installation that is not answered yet tells it with its answer.
      if (derived !== 0 && opening === undefined)
        events.onAnswer({ kind: "Tiered", derived, process, tier, tierWhy });
    },
    onRate(hosted) {
      const installation = installed.get(hosted);
      if (installation === undefined) return;
      for (const name of installed.sourcesOf(installation)) events.onDemand(name);
    },
    onRemoved(hosted, error) {
      const installation = installed.get(hosted);
      if (installation === undefined) return;
      forget(installation);
      callers.delete(hosted);
      const { number: code, message } = error;
      const { number: derived, process, only, opening } = installation;
      if (only !== undefined) return only.past?.failed(error);
      // Who has no answer yet is told by that.
      if (opening !== undefined) opening.reject(error);
      else if (derived !== 0) events.onAnswer({ kind: "Removed", derived, process, code, message });
    },
  };
}

/** A modulator asks for the newest state of a shared object, by its own name for it. */
function pull(
  { number, modulator, pulled }: Installation,
  wanted: Value | undefined,
  events: ModulationEvents,
): void {
  if (number === 0) return;
  for (const { name, object, lazy } of modulator.objects) {
    if (name !== wanted || !lazy || pulled.has(object)) continue;
    pulled.add(object);
    events.onPull(number, object);
  }
}
