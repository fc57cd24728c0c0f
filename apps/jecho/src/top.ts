import { setTimeout as delay } from "node:timers/promises";
import type { GatewayOverview, Session } from "@jecho/client";
import type { Command } from "commander";
import { meet } from "./meet.ts";
import { count, counted, type GatewayAnswering, positive, type Screen, withGateway } from "./screen.ts";
import { amount, columns, omitted, placesText, type Standing, standingsOf } from "./standings.ts";

interface TopOptions extends GatewayAnswering {
  readonly interval: number;
  readonly count?: number;
}

const HEAD = [
  "CHANNEL",
  "EVENTS/S",
  "BYTES/S",
  "DROPPED/S",
  "PRODUCERS",
  "CONSUMERS",
  "CPU %",
  "MODULATOR RUNS AT",
];
/** Clears the terminal, and what is above it on its screen. */
const CLEAR = "\u001b[H\u001b[2J\u001b[3J";

/** `jecho top` */
export function addTop(program: Command, screen: Screen): void {
  const command = program
    .command("top")
    .argument(
      "[pattern]",
      "of channels' names: * stands for one segment, ** at the end for one or more",
      "**",
    )
    .summary("shows what passes through channels, second by second")
    .description(
      "Shows what passes through the channels of a gateway: the busiest first, each with what modulators make of it, the processor time that these take, and where they run. Consumers in a producer's own process, and what consumers run for themselves, are not seen by the gateway.",
    )
    .option("--interval <SECONDS>", "between two looks", positive, 1)
    .option("--count <N>", "end after so many", count)
    .option("--json", "each look as a line of JSON: the rates of each channel");
  withGateway(command, "inspect").action((pattern: string, options: TopOptions) =>
    meet({ ...options, ...screen }, session => watch(session, pattern, options, screen)),
  );
}

async function watch(session: Session, pattern: string, options: TopOptions, screen: Screen): Promise<void> {
  const { interval, count: most = Number.POSITIVE_INFINITY, json } = options;
  const { out, signal } = screen;
  const isTerminal = "isTTY" in out && out.isTTY === true && json !== true;
  let before: GatewayOverview | undefined;
  let lookedAt = 0;
  for (let shown = 0; shown < most; ) {
    const now = await session.overview(pattern);
    const at = performance.now();
    if (before !== undefined) {
      const standings = standingsOf(now, before, (at - lookedAt) / 1000);
      out.write(
        json === true
          ? `${JSON.stringify(ratesJson(now, standings))}\n`
          : screenText(now, standings, isTerminal),
      );
      shown++;
    }
    [before, lookedAt] = [now, at];
    if (shown < most && !(await paused(interval, signal))) return;
  }
}

/** @returns false where the operator has seen enough */
function paused(seconds: number, signal: AbortSignal): Promise<boolean> {
  return delay(1000 * seconds, true, { signal }).catch(() => false);
}

function ratesJson({ connections, channels }: GatewayOverview, standings: readonly Standing[]) {
  const of = standings.map(({ name, channel, derived, consumers, rates }) => ({
    name,
    producers: derived === undefined ? channel.producers : undefined,
    consumers,
    ...rates,
    places: derived?.places,
  }));
  return { time: new Date().toISOString(), connections, channels, of };
}

function screenText(now: GatewayOverview, standings: readonly Standing[], isTerminal: boolean): string {
  const { connections, channels } = now;
  const busy = (name: string) =>
    Math.max(...standings.filter(one => one.channel.name === name).map(one => one.rates?.bytes ?? 0));
  const order = new Map(now.of.map(({ name }) => [name, busy(name)]));
  const rows = standings
    .toSorted((a, b) => (order.get(b.channel.name) ?? 0) - (order.get(a.channel.name) ?? 0))
    .map(({ name, channel, derived, consumers, rates }) => [
      derived === undefined ? name : `  ${name}`,
      rate(rates?.events),
      rate(rates?.bytes),
      rate(rates?.dropped),
      derived === undefined ? String(channel.producers) : "",
      String(consumers),
      derived === undefined
        ? ""
        : cost(
            derived.places.some(({ tier }) => tier === "hosted"),
            rates?.cpus,
          ),
      derived === undefined ? (channel.blocked ? "(producers wait)" : "") : placesText(derived.places),
    ]);
  const head = `${new Date().toISOString()}  ${counted(connections, "connection")}, ${counted(channels, "channel")}`;
  const text = `${head}\n${columns([HEAD, ...rows])}${omitted(now)}\n`;
  return isTerminal ? CLEAR + text : `${text}\n`;
}

function rate(value: number | undefined): string {
  return value === undefined ? "–" : amount(value);
}

/** In the producer's thread a modulator's time is part of the producer's own, and nobody measures it apart. */
function cost(isMeasured: boolean, cpus: number | undefined): string {
  return isMeasured && cpus !== undefined ? amount(100 * cpus) : "–";
}
