import type { ConnectOptions } from "@jecho/client";
import { MEANINGS } from "./event.ts";
import type { Random } from "./random.ts";

const PLACES = ["worker", "worker", "here"] as const;
const TIERS = ["any", "any", "trusted", "hosted", "quickjs"] as const;
const POLICIES = ["drop-oldest", "latest", "disconnect"] as const;

/** How a process is connected, and runs modulators. */
export interface Way {
  /** Thread of its connection: one of its own, or the application's. */
  readonly place: (typeof PLACES)[number];
  /** `any`: compiled or hosted, as by default; `trusted`: locally; `hosted`: never compiled; `quickjs`: hosted by that engine alone. */
  readonly tier: (typeof TIERS)[number];
  /** Its application does not keep up, and what waits for it at the gateway goes by this policy. Undefined where it does. */
  readonly slow?: (typeof POLICIES)[number];
}

export const USUAL: Way = { place: "worker", tier: "any" };

export function someWay(random: Random): Way {
  return { place: random.pick(PLACES), tier: random.pick(TIERS) };
}

export function slowWay(random: Random): Way {
  return { ...someWay(random), slow: random.pick(POLICIES) };
}

/** Options of its session. @param modulates whether it runs modulators at all */
export function optionsOf(
  { place, tier }: Way,
  modulates: boolean,
): Pick<ConnectOptions, "place" | "modulators"> {
  if (!modulates) return { place, modulators: { most: 0 } };
  const texts = Object.values(MEANINGS).flatMap(meaning =>
    "modulator" in meaning ? meaning.modulator.source : [],
  );
  const modulators = {
    any: {},
    trusted: { trusted: texts },
    hosted: { mostPerEvent: 0 },
    quickjs: { mostPerEvent: 0, engine: "quickjs" },
  } as const;
  return { place, modulators: modulators[tier] };
}
