import type { Command } from "commander";
import { meet } from "./meet.ts";
import { type GatewayAnswering, print, type Screen, withGateway } from "./screen.ts";

/** `jecho kick` */
export function addKick(program: Command, screen: Screen): void {
  const command = program
    .command("kick")
    .argument("<subject>", "the name that stands in its tokens")
    .summary("ends the connections of a token's subject")
    .description(
      "Ends all connections of a subject at once. The gateway takes none of the tokens that the subject has; it forgets that when it is started again.",
    )
    .option("--json", "print a line of JSON");
  withGateway(command, "kick").action(async (subject: string, options: GatewayAnswering) => {
    await meet({ ...options, ...screen }, async session => {
      const connections = await session.kick(subject);
      const text = `${connections} connection${connections === 1 ? "" : "s"} of ${subject} ended`;
      print(screen, options.json, { subject, connections }, text);
    });
  });
}
