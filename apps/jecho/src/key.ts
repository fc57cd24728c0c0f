import { writeFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { print, type Screen } from "./screen.ts";

interface Keys {
  readonly signing: object;
  readonly checking: object;
}

/** Functions that make keys. */
interface KeyMaker<A extends string> {
  readonly create: (algorithm: A) => Promise<Keys>;
}

/** `jecho key` */
export function addKey<A extends string>(
  program: Command,
  screen: Screen,
  load: () => Promise<KeyMaker<A>>,
): void {
  const algorithms = ["EdDSA", "ES256", "RS256", "HS256"];
  program
    .command("key")
    .argument("<file>", "what makes tokens is written there, and what a gateway checks them with to FILE.pub")
    .summary("makes keys for tokens, which say to a gateway who somebody is, and what that one may do")
    .description("Makes keys for tokens: see jecho token, and jecho gateway --keys.")
    .addOption(
      new Option("--algorithm <NAME>", "with HS256 FILE alone is written, for both")
        .choices(algorithms)
        .default("EdDSA"),
    )
    .option("--json", "print a line of JSON")
    .action(async (file: string, { algorithm, json }: { algorithm: A; json?: boolean }) =>
      makeKey(file, algorithm, json, screen, await load()),
    );
}

/** @throws Error where a file cannot be written, or is there */
async function makeKey<A extends string>(
  file: string,
  algorithm: A,
  json: boolean | undefined,
  screen: Screen,
  { create }: KeyMaker<A>,
): Promise<void> {
  const { signing, checking } = await create(algorithm);
  await write(file, signing, 0o600);
  if (signing === checking)
    return print(screen, json, { file }, `${file} makes tokens and checks them: keep it secret`);
  await write(`${file}.pub`, checking, 0o644);
  const text = `${file} makes tokens: keep it secret\n${file}.pub checks them: jecho gateway --keys ${file}.pub`;
  print(screen, json, { file, public: `${file}.pub` }, text);
}

/** A file that is there is left alone: with it, tokens that have been handed out would be worth nothing. */
function write(file: string, keys: object, mode: number): Promise<void> {
  return writeFile(file, `${JSON.stringify(keys)}\n`, { flag: "wx", mode });
}
