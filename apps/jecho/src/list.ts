import type { Command } from "commander";
import { meet } from "./meet.ts";
import { type GatewayAnswering, print, type Screen, withGateway } from "./screen.ts";
import { amount, columns, omitted, placesText, standingsOf } from "./standings.ts";

const HEAD = [
  "CHANNEL",
  "TYPE",
  "PRODUCERS",
  "CONSUMERS",
  "EVENTS",
  "BYTES",
  "DROPPED",
  "KEPT",
  "MODULATOR RUNS AT",
];

/** `jecho ls` */
export function addList(program: Command, screen: Screen): void {
  const command = program
    .command("ls")
    .argument(
      "[pattern]",
      "of channels' names: * stands for one segment, ** at the end for one or more",
      "**",
    )
    .summary("lists channels, who is there, and what is derived of them")
    .description(
      "Lists the channels of a gateway, and what modulators make of them. Counts are of events since a channel came to be there; those dropped were so for processes that did not keep up.",
    )
    .option("--json", "all of it as a line of JSON");
  withGateway(command, "inspect").action(async (pattern: string, options: GatewayAnswering) => {
    await meet({ ...options, ...screen }, async session => {
      const overview = await session.overview(pattern);
      const rows = standingsOf(overview).map(({ name, derived, channel, ...counts }) => [
        name,
        derived === undefined ? channel.types.join(", ") : "",
        derived === undefined ? String(channel.producers) : "",
        String(counts.consumers),
        amount(counts.events),
        amount(counts.bytes),
        amount(counts.dropped),
        amount(counts.historyBytes),
        derived === undefined ? "" : placesText(derived.places),
      ]);
      const text = rows.length === 0 ? "# there is no such channel" : columns([HEAD, ...rows]);
      print(screen, options.json, overview, text + omitted(overview));
    });
  });
}
