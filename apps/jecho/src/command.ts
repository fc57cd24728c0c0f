import { readFileSync } from "node:fs";
import { JechoError } from "@jecho/client";
import type { createToken, TokenAlgorithm } from "@jecho/server";
import { Command, CommanderError } from "commander";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor.ts";
import { addExplain } from "./explain.ts";
import { addKey } from "./key.ts";
import { addKick } from "./kick.ts";
import { addList } from "./list.ts";
import { addTypes } from "./print-types.ts";
import { addPub } from "./publish.ts";
import { addReload } from "./reload.ts";
import { printable, type Screen, UsageError } from "./screen.ts";
import { addSub } from "./subscribe.ts";
import { addToken } from "./token.ts";
import { addTop } from "./top.ts";

const stop = new AbortController();
const screen: Screen = {
  out: process.stdout,
  note: line => void process.stderr.write(`${printable(line)}\n`),
  signal: stop.signal,
};

function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

/** Commands whose options are the gateway's own: it reads them, and shows its help. */
function addGateway(program: Command): void {
  const own = (name: string, summary: string, run: () => Promise<void>) =>
    program
      .command(name)
      .summary(summary)
      .allowUnknownOption()
      .allowExcessArguments()
      .helpOption(false)
      .action(run);
  own("gateway", "runs a gateway", async () => {
    const [{ runGateway }, { startModulating }] = await Promise.all([
      import("@jecho/server"),
      import("@jecho/client/modulating"),
    ]);
    await runGateway(process, { modulating: startModulating });
  });
  own("config", "prints the settings that it would have, and where each comes from", async () => {
    const { printConfiguration } = await import("@jecho/server");
    await printConfiguration(process);
  });
}

const program = new Command("jecho")
  .description("Looks at what runs on channels, and runs a gateway.")
  .version(version(), "--version", "print the version")
  .configureHelp({ helpWidth: 120, subcommandTerm: command => command.name() })
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "jecho: ")) })
  .exitOverride()
  .addHelpText(
    "after",
    "\nExit status: 0 if all went well, 1 if something failed (where that is one of JEcho's errors, the message begins with its code), 2 if the command line is wrong.",
  );
addGateway(program);
addSub(program, screen);
addPub(program, screen);
addTypes(program, screen);
addExplain(program, screen);
addList(program, screen);
addTop(program, screen);
addKey<TokenAlgorithm>(program, screen, async () => {
  const { createTokenKeys } = await import("@jecho/server");
  return { create: createTokenKeys };
});
addToken(program, screen, async (...given: Parameters<typeof createToken>) => {
  const server = await import("@jecho/server");
  return server.createToken(...given);
});
addKick(program, screen);
addReload(program, screen);
addDoctor(program, screen, async () => (await import("@jecho/server")).createGateway());
addCompletion(program, screen, async () => (await import("@jecho/server")).GATEWAY_FLAGS);
// All options fill a screen, and what is wrong would stand above it.
const helpOf = (command: Command): string => `(jecho ${command.name()} --help lists the options)`;
for (const command of program.commands) command.showHelpAfterError(helpOf(command));
program.showHelpAfterError("(jecho --help lists the commands)");

const [first] = process.argv.slice(2);
// Who reads our output may leave before we do: head, say.
process.stdout.on("error", () => stop.abort());
if (first !== "gateway") {
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
}
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (!stop.signal.aborted) {
    const code = error instanceof JechoError ? `${error.code}: ` : "";
    console.error(printable(`jecho: ${code}${(error as Error).message}`));
    const command = program.commands.find(one => one.name() === first);
    if (error instanceof UsageError && command !== undefined) console.error(helpOf(command));
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
