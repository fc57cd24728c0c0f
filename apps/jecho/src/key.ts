import { writeFile } from "node:fs/promises";
import { parseOneArgument, type Screen, UsageError } from "./usage.ts";

const USAGE = `jecho key FILE [options]

  FILE                  what makes tokens is written there, and what a gateway checks them with to FILE.pub
  --algorithm NAME      EdDSA (if not said otherwise), ES256, RS256, or HS256: then FILE alone is written, for both

Makes keys for tokens: see jecho token, and jecho gateway --keys.`;

interface Keys {
  readonly signing: object;
  readonly checking: object;
}

/** What makes keys, and for which algorithms. */
interface KeyMaker<A extends string> {
  readonly algorithms: readonly A[];
  readonly create: (algorithm: A) => Promise<Keys>;
}

/** @throws UsageError; Error where a file cannot be written, or is there */
export async function makeKey<A extends string>(
  args: string[],
  { out }: Pick<Screen, "out">,
  { algorithms, create }: KeyMaker<A>,
): Promise<void> {
  const { argument: file, values } = parseOneArgument(
    args,
    { algorithm: { type: "string", default: "EdDSA" }, help: { type: "boolean", short: "h" } },
    "file",
    USAGE,
  );
  if (values.help) return void out.write(`${USAGE}\n`);
  const algorithm = algorithms.find(name => name === values.algorithm);
  if (algorithm === undefined)
    throw new UsageError(
      `--algorithm takes one of ${algorithms.join(", ")}, not "${values.algorithm}"`,
      USAGE,
    );
  const { signing, checking } = await create(algorithm);
  await write(file, signing, 0o600);
  if (signing === checking) return void out.write(`${file} makes tokens and checks them: keep it secret\n`);
  await write(`${file}.pub`, checking, 0o644);
  out.write(
    `${file} makes tokens: keep it secret\n${file}.pub checks them: jecho gateway --keys ${file}.pub\n`,
  );
}

/** A file that is there is left alone: with it, tokens that have been handed out would be worth nothing. */
function write(file: string, keys: object, mode: number): Promise<void> {
  return writeFile(file, `${JSON.stringify(keys)}\n`, { flag: "wx", mode });
}
