import type { ConnectOptions } from "@jecho/client";
import { createToken, type JsonWebKeySet, RIGHTS } from "@jecho/server";
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
  /** Signs its tokens, where the gateways want some. */
  readonly keys?: JsonWebKeySet;
}

/** So short that each process has many of them. */
const TOKEN_SECONDS = 12;
const ALL_RIGHTS = RIGHTS.flatMap(right => [`${right}:*`, `${right}:**`]);

export const USUAL: Way = { place: "worker", tier: "any" };

export function someWay(random: Random): Way {
  return { place: random.pick(PLACES), tier: random.pick(TIERS) };
}

export function slowWay(random: Random): Way {
  return { ...someWay(random), slow: random.pick(POLICIES) };
}

/** The option by which a session has a token of this subject whenever it wants one. */
export function tokensBy(keys: JsonWebKeySet | undefined, subject: string): Pick<ConnectOptions, "token"> {
  if (keys === undefined) return {};
  return { token: () => createToken(keys, { subject, can: ALL_RIGHTS, seconds: TOKEN_SECONDS }) };
}

/** Options of its session. @param modulates whether it runs modulators at all */
export function optionsOf(
  { place, tier, keys }: Way,
  subject: string,
  modulates = true,
): Pick<ConnectOptions, "place" | "modulators" | "token"> {
  const always = { place, ...tokensBy(keys, subject) };
  if (!modulates) return { ...always, modulators: { most: 0 } };
  const texts = Object.values(MEANINGS).flatMap(meaning =>
    "modulator" in meaning ? meaning.modulator.source : [],
  );
  const modulators = {
    any: {},
    trusted: { trusted: texts },
    hosted: { mostPerEvent: 0 },
    quickjs: { mostPerEvent: 0, engine: "quickjs" },
  } as const;
  return { ...always, modulators: modulators[tier] };
}
