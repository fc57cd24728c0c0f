import type {
  ChannelCounts,
  ChannelStanding,
  DerivedStanding,
  GatewayOverview,
  ModulatorPlace,
} from "@jecho/client";

/** A channel or derived channel, and what came there per second since another look; undefined at the first one. */
export interface Standing extends ChannelCounts {
  /** The user's part of the channel's name, with `#` and a name or number for what is derived. */
  readonly name: string;
  /** Standing of the derived channel; undefined for a channel. */
  readonly derived: DerivedStanding | undefined;
  readonly channel: ChannelStanding;
  readonly rates: Rates | undefined;
}

/** Counts per second. */
interface Rates {
  readonly events: number;
  readonly bytes: number;
  readonly dropped: number;
  /** Processors that its modulator uses, of all places together. */
  readonly cpus: number;
}

/**
 * All channels of an overview, each with what is derived of it.
 *
 * @param before an earlier one, `seconds` ago
 */
export function standingsOf(now: GatewayOverview, before?: GatewayOverview, seconds = 1): Standing[] {
  const known = new Map(before?.of.map(channel => [`${channel.name} ${channel.epoch}`, channel]));
  return now.of.flatMap(channel => {
    const was = known.get(`${channel.name} ${channel.epoch}`);
    const derivedWas = new Map(was?.derived.map(derived => [derived.number, derived]));
    return [
      { ...channel, name: channel.name, derived: undefined, channel, rates: ratesOf(channel, was, seconds) },
      ...channel.derived.map(derived => ({
        ...derived,
        name: `${channel.name}#${derived.names[0] ?? derived.number}`,
        derived,
        channel,
        rates: ratesOf(derived, derivedWas.get(derived.number), seconds),
      })),
    ];
  });
}

function ratesOf<T extends ChannelCounts & { places?: readonly ModulatorPlace[] }>(
  now: T,
  before: T | undefined,
  seconds: number,
): Rates | undefined {
  if (before === undefined) return undefined;
  const perSecond = (of: (counts: T) => number) => Math.max(0, of(now) - of(before)) / seconds;
  return {
    events: perSecond(({ events }) => events),
    bytes: perSecond(({ bytes }) => bytes),
    dropped: perSecond(({ dropped }) => dropped),
    cpus: perSecond(({ places = [] }) => places.reduce((sum, { cpuMs }) => sum + cpuMs, 0)) / 1000,
  };
}

/** Rows as text in columns; the first is the heading. Cells that begin with a digit stand to the right. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)));
  const isRight = (i: number) => rows.slice(1).some(row => /^\d/.test(row[i] ?? ""));
  return rows
    .map(row =>
      row
        .map((cell, i) => (isRight(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const UNITS = ["", "k", "M", "G", "T"];

/** A number of at most four digits, with k, M, G or T for thousands. */
export function amount(value: number): string {
  let unit = 0;
  let rest = value;
  while (rest >= 9999.5 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit++;
  }
  const digits = rest >= 100 || Number.isInteger(rest) ? 0 : 1;
  return `${rest.toFixed(digits)}${UNITS[unit]}`;
}

/** Places where a modulator runs, in a word each: `producer (hosted)`. */
export function placesText(places: readonly ModulatorPlace[]): string {
  const words = places.map(
    ({ at, tier, code }) =>
      `${at}${tier === undefined ? "" : ` (${tier})`}${at === "nowhere" ? ` (${code})` : ""}`,
  );
  return [...new Set(words)].join(", ");
}

/** Line that stands behind a list that is not whole; "" for one that is. */
export function omitted({ of, matching }: GatewayOverview): string {
  return of.length === matching
    ? ""
    : `\n# ${matching - of.length} more channels match: name a narrower pattern`;
}
