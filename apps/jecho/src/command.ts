import { readFileSync } from "node:fs";
import { JechoError } from "@jecho/client";
import { makeKey } from "./key.ts";
import { kick } from "./kick.ts";
import { printTypes } from "./print-types.ts";
import { subscribe } from "./subscribe.ts";
import { makeToken } from "./token.ts";
import { UsageError } from "./usage.ts";

const USAGE = `jecho COMMAND [options]

  jecho gateway           runs a gateway
  jecho config            prints the settings that it would have, and where each comes from
  jecho sub CHANNEL       prints the events of a channel, a line each
  jecho types CHANNEL     prints the types that a channel's producers write, as FlatBuffers schemas
  jecho key FILE          makes keys for tokens, which say to a gateway who somebody is, and what that one may do
  jecho token             makes a token
  jecho kick SUBJECT      ends the connections of a token's subject

jecho COMMAND --help says more; jecho --version prints the version.

Exit status: 0 if all went well, 1 if something failed (the message begins with the error's code), 2 if the command line is wrong.`;

function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

const [command, ...rest] = process.argv.slice(2);
const stop = new AbortController();

try {
  // Who reads our output may leave before we do: head, say.
  process.stdout.on("error", () => stop.abort());
  if (command === "gateway") {
    const [{ runGateway }, { startModulating }] = await Promise.all([
      import("@jecho/server"),
      import("@jecho/client/modulating"),
    ]);
    await runGateway(process, { modulating: startModulating });
  } else if (command === "config") {
    const { printConfiguration } = await import("@jecho/server");
    await printConfiguration(process);
  } else {
    process.once("SIGINT", () => stop.abort());
    process.once("SIGTERM", () => stop.abort());
    const screen = { out: process.stdout, note: (line: string) => void process.stderr.write(`${line}\n`) };
    if (command === "sub") await subscribe(rest, screen, stop.signal);
    else if (command === "types") await printTypes(rest, screen, stop.signal);
    else if (command === "kick") await kick(rest, screen, stop.signal);
    else if (command === "key") {
      const { ALGORITHMS, createTokenKeys } = await import("@jecho/server");
      await makeKey(rest, screen, { algorithms: ALGORITHMS, create: createTokenKeys });
    } else if (command === "token") {
      const { createToken } = await import("@jecho/server");
      await makeToken(rest, screen, createToken);
    } else if (command === "--help" || command === "-h") screen.out.write(`${USAGE}\n`);
    else if (command === "--version") screen.out.write(`${version()}\n`);
    else
      throw new UsageError(
        command === undefined ? "a command is missing" : `there is no command "${command}"`,
        USAGE,
      );
  }
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(
      `jecho: ${error instanceof JechoError ? `${error.code}: ` : ""}${(error as Error).message}`,
    );
    if (error instanceof UsageError) console.error(`\n${error.usage}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
