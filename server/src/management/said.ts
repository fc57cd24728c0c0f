/** Tiers that a modulator can run in, by their names; "" where a process does not say. */
const TIERS: ReadonlySet<string> = new Set(["", "local", "compiled", "hosted"]);
/** Most characters of a reason that a process gives: it is kept, and told to others. */
const MOST_CHARACTERS = 2000;

/** A process' word for a modulator's tier; "" for one that is none. */
export function tierSaid(tier: string): string {
  return TIERS.has(tier) ? tier : "";
}

/** A process' word on a modulator: why it runs where it does, or does not. */
export function reasonSaid(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  // A part of a string would keep the whole one in memory.
  return Buffer.from(text.slice(0, MOST_CHARACTERS)).toString();
}
