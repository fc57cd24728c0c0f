import { copyValue, type NamedValues, sizeOf, type Value } from "../values.ts";
import { uncounted } from "./events.ts";
import type { Memory } from "./memory.ts";
import { Bytes, clip, freeze } from "./primordials.ts";

/*
 * Services that a modulator may use besides the language: only those it needs, each at its name's path in `moe`. None waits for
 * the producer: views of its state are copies from before the call, services are functions in this realm, and calls of
 * controls are sent when the modulator's call has ended.
 */

/** Limits for the calls of one turn. */
const MAX_CALLS = 64;
const MAX_CALL_BYTES = 64 << 10;
const LINE_CHARACTERS = 1000;

const NO_ENTROPY: Uint8Array = new Bytes(0);

const blank = () => ({
  counts: { enqueued: 0, dequeued: 0, dropped: 0 },
  views: { __proto__: null } as unknown as Record<string, Value | undefined>,
  timeMs: 0,
  entropy: NO_ENTROPY,
  waiting: [] as NamedValues[],
  waitingBytes: 0,
});
let { counts, views, timeMs, entropy, waiting, waitingBytes } = blank();

export { counts };

export const servicesMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => ({ counts, views, timeMs, entropy, waiting, waitingBytes }),
  enter: memory => {
    ({ counts, views, timeMs, entropy, waiting, waitingBytes } = memory);
  },
};

/** The parts of `moe` that these needs stand for. */
export function offerServices(
  needs: readonly string[],
  services: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const groups: Record<"context" | "services" | "controls", object> = {
    context: { __proto__: unlisted("context.") },
    services: { __proto__: unlisted("services.") },
    controls: { __proto__: unlisted("controls.") },
  };
  const offered: Record<string, unknown> = { ...groups };
  for (let i = 0; i < needs.length; i++) {
    const need = needs[i] as string;
    const [group = "", name = ""] = need.split(".");
    if (group === "context") {
      const its = views;
      Object.defineProperty(groups.context, name, { get: () => its[need], enumerable: true });
    } else if (group === "services") {
      Object.defineProperty(groups.services, name, { value: services?.[name], enumerable: true });
    } else if (group === "controls") {
      const value = (...values: unknown[]): void => call(need, values);
      Object.defineProperty(groups.controls, name, { value, enumerable: true });
    } else {
      offered[need] = ofMoe(need);
    }
  }
  for (const group of Object.values(groups)) freeze(group);
  return offered;
}

/** A prototype of the listed services: reading anything else throws, naming what to list. */
function unlisted(group: string): object {
  return new Proxy(nothing, {
    get: (_, name) => {
      // Names that the language itself looks up are absent.
      if (typeof name !== "string" || name === "toJSON" || name === "then") return undefined;
      throw notListed(`${group}${name}`);
    },
  });
}

const nothing = freeze({ __proto__: null });

function notListed(name: string): TypeError {
  return new TypeError(`it uses "${name}", which the class does not list: static needs = ["${name}"]`);
}

/** A prototype likewise for the MOE's own services. */
export const UNLISTED: object = freeze(
  Object.defineProperties(
    {},
    Object.fromEntries(
      ["clock", "entropy", "log", "random", "statistics"].map(name => [
        name,
        {
          get: () => {
            throw notListed(name);
          },
        },
      ]),
    ),
  ),
);

function ofMoe(name: string): unknown {
  switch (name) {
    case "clock":
      return () => timeMs;
    case "entropy":
      return () => entropy.slice();
    case "log":
      return (line: unknown) => log(line);
    case "random":
      return (seed: unknown = Math.random() * 0x1_0000_0000) => generator(Number(seed) >>> 0);
    case "statistics":
      return () => {
        const { enqueued, dequeued } = uncounted();
        return { ...counts, enqueued: counts.enqueued + enqueued, dequeued: counts.dequeued + dequeued };
      };
    default:
      throw new TypeError(`there is no service "${name}"`);
  }
}

export function setTime(ms: number): void {
  timeMs = ms;
}

/** Random bytes from outside. */
export function setEntropy(bytes: Uint8Array): void {
  entropy = bytes;
}

export function setContext(name: string, list: readonly NamedValues[]): void {
  views[name] = list[0]?.values[0];
}

/** Number of calls that wait to be taken. */
export function waitingCalls(): number {
  return waiting.length;
}

export function takeCalls(): readonly NamedValues[] {
  const taken = waiting;
  waiting = [];
  waitingBytes = 0;
  return taken;
}

/** Records a call, which is sent to the producer if the turn ends without a failure. */
export function call(name: string, parameters: readonly unknown[]): void {
  const values: Value[] = [];
  let bytes = 2 * name.length;
  for (let i = 0; i < parameters.length; i++) {
    const value = copyValue(parameters[i]);
    values[i] = value;
    bytes += sizeOf(value);
  }
  if (waiting.length === MAX_CALLS || waitingBytes + bytes > MAX_CALL_BYTES) {
    throw new RangeError(`more than ${MAX_CALLS} calls or ${MAX_CALL_BYTES} bytes of them in one turn`);
  }
  waiting[waiting.length] = { name, values };
  waitingBytes += bytes;
}

/** Logs a line, or leaves it out where it does not fit: a modulator must not fail for its log. */
function log(line: unknown): void {
  const text = clip(String(line), LINE_CHARACTERS);
  if (waiting.length < MAX_CALLS && waitingBytes + 2 * text.length < MAX_CALL_BYTES) call("log", [text]);
}

/** Numbers from 0 to below 1 that are the same for the same seed: mulberry32. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
