import type { Writable } from "node:stream";
import { type Command, InvalidArgumentError } from "commander";

/** Error in the command line: what was asked for cannot be done as it was asked. */
export class UsageError extends Error {}

/** Ways out of a command: results go to `out`, what is said about them to `note`; `signal` ends the command early. */
export interface Screen {
  readonly out: Writable;
  note(line: string): void;
  readonly signal: AbortSignal;
}

/** A line with spaces for what would move a terminal's cursor, or tell it something: others' words may be in it. */
export function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ");
}

/** Options of commands that meet a gateway. */
export interface GatewayAnswering {
  readonly gateway?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** Adds the options that say which gateway is meant, and who asks. @param right that it takes at a gateway with keys */
export function withGateway(command: Command, right: string): Command {
  return command
    .option("--gateway <HOST:PORT>", "where it is (localhost:8080)")
    .option("--token <FILE>", `says to a gateway with keys who this is, with the right ${right}`);
}

/** Reads a number of at least 1. */
export function count(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("It takes a number from 1 upwards.");
  return number;
}

/** Reads a number above 0. */
export function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0 && Number.isFinite(number))) throw new InvalidArgumentError("It takes a number above 0.");
  return number;
}

/** A number of things, as text: "1 channel", "2 channels". */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

/** Gathers the values of an option that may be repeated. */
export function each(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Writes a result: as JSON where that was asked for, else as text. */
export function print(
  { out }: Pick<Screen, "out">,
  json: boolean | undefined,
  result: unknown,
  text: string,
): void {
  out.write(`${json === true ? JSON.stringify(result) : text}\n`);
}
