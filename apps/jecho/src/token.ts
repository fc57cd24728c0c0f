import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { count, each, print, type Screen } from "./screen.ts";

interface Claims {
  readonly subject: string;
  readonly can: readonly string[];
  readonly seconds: number;
  readonly issuer?: string;
  readonly audience?: string;
}

interface TokenCommandOptions extends Omit<Claims, "subject"> {
  readonly sub: string;
  readonly key: string;
  readonly json?: boolean;
}

/** `jecho token` */
export function addToken<K>(
  program: Command,
  screen: Screen,
  create: (keys: K, claims: Claims) => Promise<string>,
): void {
  program
    .command("token")
    .summary("makes a token")
    .description(
      "Prints a token. A right is subscribe, publish, own, modulate, control, share, name, history, handover, block, kick or inspect, or * for all of them, and what it is for: the name of a channel, in which * stands for one segment and ** at the end for one or more.",
    )
    .requiredOption("--sub <NAME>", "whose it is, which others are shown")
    .requiredOption(
      "--can <RIGHTS>",
      "what that one may do: subscribe:weather/**,modulate:weather/**; may be repeated",
      each,
    )
    .option("--key <FILE>", "what jecho key has written", "jecho.key")
    .option("--seconds <N>", "how long it is good", count, 86_400)
    .option("--issuer <NAME>", "who makes it, for a gateway that asks for that")
    .option("--audience <NAME>", "which gateway it is for, likewise")
    .option("--json", "print a line of JSON")
    .action(async ({ sub: subject, can, key, json, ...claims }: TokenCommandOptions) => {
      const rights = can.flatMap(some => some.split(","));
      const token = await create(JSON.parse(await readFile(key, "utf8")) as K, {
        subject,
        can: rights,
        ...claims,
      });
      print(screen, json, { subject, can: rights, token }, token);
    });
}
