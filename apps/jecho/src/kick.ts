import { meet } from "./meet.ts";
import { parseOneArgument, type Screen } from "./usage.ts";

const USAGE = `jecho kick SUBJECT [options]

  SUBJECT               the name that stands in its tokens
  --gateway HOST:PORT   where it is (localhost:8080)
  --token FILE          a token that has the right kick

Ends all connections of a subject at once. The gateway takes none of the tokens that the subject has; it forgets that when it is started again.`;

/** @throws JechoError, UsageError */
export async function kick(args: string[], { out, note }: Screen, signal: AbortSignal): Promise<void> {
  const { argument: subject, values } = parseOneArgument(
    args,
    { gateway: { type: "string" }, token: { type: "string" }, help: { type: "boolean", short: "h" } },
    "subject",
    USAGE,
  );
  if (values.help) return void out.write(`${USAGE}\n`);
  await meet({ ...values, note, signal }, async session => {
    const connections = await session.kick(subject);
    out.write(`${connections} connection${connections === 1 ? "" : "s"} of ${subject} ended\n`);
  });
}
