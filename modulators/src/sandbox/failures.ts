import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";

/**
 * First line of a source that `modulatorFrom` made: its author's text begins on the second. The file's name tells the two kinds apart, for engines
 * report a place as file name, line and column.
 */
export const HEAD = "/* modulatorFrom */";
const WHOLE = "modulator.js";
const HEADED = "modulator.text.js";

/** The name that a modulator's source has in every engine. */
export function moduleName(source: string): string {
  return source.startsWith(HEAD) ? HEADED : WHOLE;
}

const MEMORY = /memory limit|array buffer allocation failed|out of memory/i;

/** Whether a message tells of exhausted memory. */
export function isAboutMemory(message: string): boolean {
  return MEMORY.test(message);
}

export function outOfMemory(limitMiB: number): JechoError {
  return new JechoError("MODULATOR_OUT_OF_MEMORY", `it used more than ${limitMiB} MiB`);
}

/**
 * A deadline counts wall-clock time. A call that had the processor for much less was starved: the cause says so, and the
 * caller may try again.
 */
export function timedOut(limitMs: number, cpuMs: number): JechoError {
  const message = `a call took longer than ${limitMs} ms (${cpuMs.toFixed(0)} ms of a processor)`;
  return new JechoError("MODULATOR_TIMED_OUT", message, { cause: { starved: cpuMs < 0.8 * limitMs } });
}

/** Whether a call was ended on a machine too busy to run it. */
export function isStarved(error: unknown): boolean {
  return ((error as Error).cause as { starved?: boolean } | undefined)?.starved === true;
}

/** An error as the world's functions report it: code, message and stack, separated by \x1f. */
export function fromInside(text: string): JechoError {
  const [code = "", message = "", stack = ""] = text.slice(0, 10_000).split("\x1f");
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "MODULATOR_FAILED";
  return new JechoError(known, located(message, stack));
}

/** The message, with the first place in the author's text that the stack or the message names, and advice. */
export function located(message: string, stack: string): string {
  const [, headed, found, column] =
    /modulator(\.text)?\.js:(\d{1,9}):(\d{1,9})/.exec(`${stack}\n${message}`) ?? [];
  const line = Number(found) - (headed === undefined ? 0 : 1);
  const text = message.replace(/ ?\[modulator(?:\.text)?\.js:\d+:\d+\]/, "").slice(0, 1900);
  const place = line > 0 ? ` (line ${line}, column ${column} of its source)` : "";
  return `${text}${place}${instead(text)}`;
}

/** Advice for an author whose modulator uses names of the program around it. */
function instead(message: string): string {
  const [, name] = /^'?([\w$]+)'? is not defined$/.exec(message) ?? [];
  if (name === undefined) return "";
  return name === "console"
    ? ": a modulator prints by its log, if the producer offers that"
    : ": a modulator knows nothing of the program that it is written in; parameters hand values over to it";
}

/** Text of a value that an engine reported as thrown. */
export function textOf(thrown: unknown, name: "message" | "stack"): string {
  if (typeof thrown === "string") return name === "message" ? thrown.slice(0, 2000) : "";
  if (!(thrown instanceof Error))
    return name === "message" ? `a value of type ${typeof thrown} was thrown` : "";
  return String(thrown[name]).slice(0, 4000);
}

export function unsound(): JechoError {
  return new JechoError("MODULATOR_FAILED", "its outbox is damaged");
}

export function importRefused(specifier: string): JechoError {
  return new JechoError(
    "MODULATOR_INVALID",
    `it imports "${specifier.slice(0, 100)}"; only "jecho:moe" and "jecho:fbs" are there to import`,
  );
}
