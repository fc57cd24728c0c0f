import { clip, getPrototypeOf, includes, memoryPrototypes, promisePrototype } from "./primordials.ts";

/*
 * A modulator's failure as text for the host: nothing else of the modulator may leave.
 */

const ERROR_CHARACTERS = 2000;

/** @throws TypeError */
export function refusePromise(result: unknown, intercept: string): void {
  if (typeof result === "object" && result !== null && getPrototypeOf(result) === promisePrototype) {
    throw new TypeError(`${intercept} returned a promise; intercepts are synchronous`);
  }
}

/** Text of a thrown value. Reading it may run the modulator's code, within the call's deadline. */
export function describe(code: string, thrown: unknown): string {
  let message = `a value of type ${thrown === null ? "null" : typeof thrown} was thrown`;
  let stack = "";
  let isMemory = false;
  try {
    if (typeof thrown === "string") message = clip(thrown, ERROR_CHARACTERS);
    else if (typeof thrown === "object" && thrown !== null) {
      const { message: text, stack: trace } = thrown as { message?: unknown; stack?: unknown };
      if (typeof text === "string") message = clip(text, ERROR_CHARACTERS);
      isMemory = isOutOfMemory(thrown, message);
      if (typeof trace === "string") stack = clip(trace, 2 * ERROR_CHARACTERS);
    }
  } catch {
    message = "a value was thrown that throws when it is read";
  }
  return `${isMemory ? "MODULATOR_OUT_OF_MEMORY" : code}\x1f${message}\x1f${stack}`;
}

/** Whether an engine threw this because memory ran out; errors that the modulator made do not count. */
function isOutOfMemory(thrown: object, message: string): boolean {
  const prototype = getPrototypeOf(thrown);
  if (prototype !== memoryPrototypes[0] && (prototype === undefined || prototype !== memoryPrototypes[1]))
    return false;
  return includes(message, "out of memory") || includes(message, "rray buffer allocation failed");
}
