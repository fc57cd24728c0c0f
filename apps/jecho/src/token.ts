import { readFile } from "node:fs/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { parseCount, type Screen, UsageError } from "./usage.ts";

const USAGE = `jecho token --sub NAME --can RIGHTS [options]

  --sub NAME            whose it is, which others are shown
  --can RIGHTS          what that one may do: subscribe:weather/**,modulate:weather/**; may be repeated
  --key FILE            what jecho key has written (jecho.key)
  --seconds N           how long it is good (86400)
  --issuer NAME         who makes it, for a gateway that asks for that
  --audience NAME       which gateway it is for, likewise

Prints a token. A right is subscribe, publish, modulate, control, share, name, history, handover, block or kick, or * for all of them, and what it is
for: the name of a channel, in which * stands for one segment and ** at the end for one or more.`;

const OPTIONS = {
  sub: { type: "string" },
  can: { type: "string", multiple: true },
  key: { type: "string", default: "jecho.key" },
  seconds: { type: "string", default: "86400" },
  issuer: { type: "string" },
  audience: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const satisfies ParseArgsConfig["options"];

interface Claims {
  readonly subject: string;
  readonly can: readonly string[];
  readonly seconds: number;
  readonly issuer?: string;
  readonly audience?: string;
}

/** @throws UsageError; JechoError `ARGUMENT_INVALID` where a right is none; Error where the key cannot be read */
export async function makeToken<K>(
  args: string[],
  { out }: Pick<Screen, "out">,
  create: (keys: K, claims: Claims) => Promise<string>,
): Promise<void> {
  const { sub, can, key, seconds, issuer, audience, help } = parse(args);
  if (help) return void out.write(`${USAGE}\n`);
  if (sub === undefined || can === undefined)
    throw new UsageError(`${sub === undefined ? "--sub" : "--can"} is missing`, USAGE);
  const token = await create(JSON.parse(await readFile(key, "utf8")) as K, {
    subject: sub,
    can: can.flatMap(rights => rights.split(",")),
    seconds: parseCount("--seconds", seconds, USAGE),
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  });
  out.write(`${token}\n`);
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, USAGE);
  }
}
