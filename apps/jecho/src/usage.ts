import type { Writable } from "node:stream";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** The command line is wrong; `usage` says what is right. */
export class UsageError extends Error {
  readonly usage: string;

  constructor(message: string, usage: string) {
    super(message);
    this.usage = usage;
  }
}

/** Where output goes: events and texts to `out`, what is said about them to `note`. */
export interface Screen {
  readonly out: Writable;
  note(line: string): void;
}

type Options = NonNullable<ParseArgsConfig["options"]>;

/** A command's options and the one thing that it is for, the name of a `channel`, say. @throws UsageError */
export function parseOneArgument<const O extends Options>(
  args: string[],
  options: O,
  what: string,
  usage: string,
) {
  const parsed = read();
  const [argument, ...more] = parsed.positionals;
  if (argument === undefined || more.length > 0) {
    if ((parsed.values as { help?: boolean }).help !== true)
      throw new UsageError(
        argument === undefined ? `the ${what}'s name is missing` : `it takes one ${what}, not several`,
        usage,
      );
  }
  return { argument: argument ?? "", values: parsed.values };

  function read() {
    try {
      return parseArgs({ args, options, allowPositionals: true });
    } catch (error) {
      throw new UsageError((error as Error).message, usage);
    }
  }
}

/** A number of at least 1. @throws UsageError */
export function parseCount(option: string, text: string, usage: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new UsageError(`${option} takes a number from 1 upwards, not "${text}"`, usage);
  return count;
}
