import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { JechoError, modulatorFromFile, type Type, typeFromSchema } from "@jecho/client";
import type { Command } from "commander";
import { meet } from "./meet.ts";
import { type GatewayAnswering, print, type Screen, UsageError, withGateway } from "./screen.ts";

interface ExplainOptions extends GatewayAnswering {
  readonly channel?: string;
  readonly type?: string;
  readonly parameters?: string;
}

/** `jecho explain` */
export function addExplain(program: Command, screen: Screen): void {
  const command = program
    .command("explain")
    .argument("<file>", "the modulator's module, in JavaScript or TypeScript")
    .summary("says whether producers compile a modulator, or why they host it")
    .description(
      "Says where a modulator that nobody vouches for runs: compiled in the producer's thread, at what cost for an event, or hosted, and why.",
    )
    .option("--channel <NAME>", "a channel whose types its events have")
    .option("--type <FILE>", "a file with the type of its events: a FlatBuffers schema, .fbs or .bfbs")
    .option("--parameters <JSON>", "its parameters")
    .option("--json", "each type's explanation as a line of JSON");
  withGateway(command, "subscribe").action((file: string, options: ExplainOptions) =>
    explain(file, options, screen),
  );
}

/** @throws JechoError or UsageError */
async function explain(file: string, options: ExplainOptions, screen: Screen): Promise<void> {
  const { explainModulator } = await import("@jecho/modulators/testing");
  const modulator = await modulatorFromFile(pathToFileURL(resolve(file)), {
    parameters: parametersOf(options.parameters),
  });
  for (const type of await typesOf(options, screen)) {
    const explanation = explainModulator(modulator, type);
    const { isCompiled, why, line, column, cost, reads, bytes } = explanation;
    const at = line === 0 ? "" : ` (line ${line}, column ${column})`;
    const text = isCompiled
      ? `${type.name}: compiled
  cost   at most ${cost} steps for an event, of a nanosecond at most
  reads  ${reads.join(", ") || "no field"}
  size   ${bytes} bytes of WebAssembly`
      : `${type.name}: hosted
  why    ${why}${at}`;
    print(screen, options.json, { type: type.name, ...explanation }, text);
  }
}

function parametersOf(text: string | undefined): never {
  try {
    // Whatever it is, the modulator says what it makes of it.
    return (text === undefined ? undefined : JSON.parse(text)) as never;
  } catch (error) {
    throw new UsageError(`the parameters are no JSON: ${(error as Error).message}`);
  }
}

async function typesOf({ channel, type, ...options }: ExplainOptions, screen: Screen): Promise<Type[]> {
  if ((channel === undefined) === (type === undefined))
    throw new UsageError("either --channel or --type says what its events are");
  if (type !== undefined) {
    const { typeFromFbs } = await import("@jecho/client/fbs");
    const bytes = await readFile(type);
    return [type.endsWith(".bfbs") ? typeFromSchema(bytes) : typeFromFbs(bytes.toString())];
  }
  let types: readonly Type[] = [];
  await meet({ channel, ...options, ...screen }, async session => {
    types = await session.channel(channel as string).types();
  });
  if (types.length === 0)
    throw new JechoError(
      "TYPE_UNKNOWN",
      `${channel} has no type at present: nobody produces there, or the channel is untyped`,
    );
  return [...types];
}
