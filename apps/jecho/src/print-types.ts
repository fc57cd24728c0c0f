import { typeScriptOf } from "@jecho/client";
import { fbsOf } from "@jecho/client/fbs";
import { meet } from "./meet.ts";
import { parseOneArgument, type Screen } from "./usage.ts";

const USAGE = `jecho types CHANNEL [options]

  CHANNEL               its name: jecho://HOST:PORT/NAME, or NAME alone
  --typescript          as TypeScript, for modulators and handlers
  --gateway HOST:PORT   where NAME alone is (localhost:8080)
  --token FILE          says to the gateway who this is, with the right subscribe

Prints the types that its present producers write, as text in FlatBuffers' schema language.`;

/** @throws JechoError, UsageError */
export async function printTypes(args: string[], { out, note }: Screen, signal: AbortSignal): Promise<void> {
  const { argument: channel, values } = parseOneArgument(
    args,
    {
      typescript: { type: "boolean" },
      gateway: { type: "string" },
      token: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
    "channel",
    USAGE,
  );
  if (values.help) return void out.write(`${USAGE}\n`);
  await meet({ channel, ...values, note, signal }, async session => {
    const found = session.channel(channel);
    const types = await found.types();
    if (types.length === 0)
      note(`# ${found.name} has no type at present: nobody produces there, or the channel is untyped`);
    for (const type of types) {
      const text = values.typescript === true ? typeScriptOf(type) : fbsOf(type);
      out.write(`// ${type.name}, token ${type.token.toString(16).padStart(16, "0")}\n${text}\n`);
    }
  });
}
