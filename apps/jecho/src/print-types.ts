import { typeScriptOf } from "@jecho/client";
import { fbsOf } from "@jecho/client/fbs";
import type { Command } from "commander";
import { meet } from "./meet.ts";
import { type GatewayAnswering, type Screen, withGateway } from "./screen.ts";

interface TypesOptions extends GatewayAnswering {
  readonly typescript?: boolean;
}

/** `jecho types` */
export function addTypes(program: Command, screen: Screen): void {
  const command = program
    .command("types")
    .argument("<channel>", "its name: jecho://HOST:PORT/NAME, or NAME alone")
    .summary("prints the types that a channel's producers write, as FlatBuffers schemas")
    .description(
      "Prints the types that its present producers write, as text in FlatBuffers' schema language.",
    )
    .option("--typescript", "as TypeScript, for modulators and handlers")
    .option("--json", "each type as a line of JSON: its name, token and text");
  withGateway(command, "subscribe").action((channel: string, options: TypesOptions) =>
    printTypes(channel, options, screen),
  );
}

/** @throws JechoError */
async function printTypes(channel: string, options: TypesOptions, screen: Screen): Promise<void> {
  const { out, note } = screen;
  await meet({ channel, ...options, ...screen }, async session => {
    const found = session.channel(channel);
    const types = await found.types();
    if (types.length === 0)
      note(`# ${found.name} has no type at present: nobody produces there, or the channel is untyped`);
    for (const type of types) {
      const text = options.typescript === true ? typeScriptOf(type) : fbsOf(type);
      const token = type.token.toString(16).padStart(16, "0");
      if (options.json === true) out.write(`${JSON.stringify({ name: type.name, token, text })}\n`);
      else out.write(`// ${type.name}, token ${token}\n${text}\n`);
    }
  });
}
