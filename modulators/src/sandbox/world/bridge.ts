import { type, unpack } from "@jecho/shared";
import { OUTBOX, OUTBOX_HEAD } from "../sandbox.ts";
import { decodeValues, encodeValues, type NamedValues } from "../values.ts";
import { addType, bytesOf, fieldsOf, openChunk, readSchema, setTypes, typeToken } from "./events.ts";
import { describe, refusePromise } from "./failing.ts";
import type { Memory } from "./memory.ts";
import { FifoModulator, Modulator, openMoe, setParameters, urgent, world } from "./moe.ts";
import { hear, openVersions, setBehind, setObject } from "./objects.ts";
import { attachOutbox, hand, handOver, outWords, putPart } from "./outbox.ts";
import { Bytes, clip, includes, isArray, parse, Words } from "./primordials.ts";
import { offerServices, setContext, setEntropy, setTime, takeCalls, waitingCalls } from "./services.ts";
import { mean, sum } from "./sums.ts";
import { begin, finish, modulator, proceed, setModulator } from "./turn.ts";

/*
 * The inside of a sandbox, as the host sees it: a few functions that take and return numbers and text. Events travel
 * through two blocks of memory, the inbox and the outbox. Every function returns a number, or the text of an error:
 * code, message and stack, separated by \x1f, for some engines end text at NUL.
 */

export { bytesOf, FifoModulator, handOver, Modulator, mean, proceed, sum, type, typeToken, unpack, urgent };

interface ModulatorClass {
  new (parameters: unknown, moe: unknown): Modulator;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly needs?: unknown;
  readonly keepsEvents?: unknown;
  check?(parameters: unknown, objects: unknown): void;
  checkInput?(fields: unknown, parameters: unknown): void;
}

const MAX_NEEDS = 32;
const NEED_CHARACTERS = 140;

const blank = () => ({
  inbox: undefined as unknown as ArrayBufferLike,
  Class: undefined as unknown as ModulatorClass,
  services: undefined as Record<string, unknown> | undefined,
  needed: [] as string[],
  /** Whether the modulator keeps no event beyond its call. */
  isFleeting: false,
});
let { inbox, Class, services, needed, isFleeting } = blank();

export const bridgeMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => ({ inbox, Class, services, needed, isFleeting }),
  enter: memory => {
    ({ inbox, Class, services, needed, isFleeting } = memory);
  },
};

/** Gives the world its memory. Called again where an event needs more. */
export function attach(inMemory: ArrayBufferLike, outMemory: ArrayBufferLike): number {
  inbox = inMemory;
  attachOutbox(outMemory);
  return 0;
}

/** The services that may be called, from the namespace of their module. */
export function serve(namespace: { default?: Record<string, unknown> }): number {
  services = namespace.default as Record<string, unknown>;
  return 0;
}

/**
 * Takes the modulator's class out of its module's namespace. The schema of its input, of type 1, lies in the inbox. Leaves in the outbox,
 * in parts of which each may be empty: the schema of the output that the class declares; that of what it was written for; and what it
 * needs, as names.
 *
 * @param offered the names of the offered services, with + before granted ones and - before others, separated by commas
 * @param queueEvents most events that wait in the modulator's queue
 * @returns 0, or 1 where it checks its input's types itself, or the text of an error, of a service that it does not get the name alone
 */
export function load(
  namespace: { default?: unknown },
  schemaBytes: number,
  offered: string,
  queueEvents: number,
): number | string {
  try {
    const found = namespace.default;
    if (typeof found !== "function" || !(found.prototype instanceof Modulator)) {
      throw new TypeError("the module's default export is not a class that extends Modulator of jecho:moe");
    }
    Class = found as ModulatorClass;
    needed = needsOf(Class.needs);
    isFleeting = Class.keepsEvents === false;
    for (let i = 0; i < needed.length; i++) {
      const name = needed[i] as string;
      if (includes(`,${offered},`, `,+${name},`)) continue;
      const refused = includes(`,${offered},`, `,-${name},`);
      return describe(refused ? "SERVICE_NOT_GRANTED" : "SERVICE_MISSING", name);
    }
    openMoe({ ...offerServices(needed, services), queueEvents });
    const schema = schemaBytes === 0 ? undefined : new Bytes(new Bytes(inbox, 0, schemaBytes));
    const made = setTypes(schema, Class.input, Class.output);
    const names = needed.length === 0 ? undefined : encodeValues(needed.map(name => ({ name, values: [] })));
    const read = putPart(1, readSchema(), putPart(0, made?.schema, OUTBOX_HEAD));
    putPart(2, names, read);
    return Class.checkInput === undefined ? 0 : 1;
  } catch (thrown) {
    return describe("MODULATOR_INVALID", thrown);
  }
}

/** Adds a type of the input, with the next number; its schema lies in the inbox. */
export function further(schemaBytes: number): number | string {
  try {
    addType(new Bytes(new Bytes(inbox, 0, schemaBytes)));
    return 0;
  } catch (thrown) {
    return describe("TYPE_INVALID", thrown);
  }
}

/** Whether the modulator can read events of this type. @param type its number; 0 for opaque bytes */
export function reads(type: number): number | string {
  try {
    Class.checkInput?.(fieldsOf(type), world.parameters);
    return 0;
  } catch (thrown) {
    return describe("TYPE_MISMATCH", thrown);
  }
}

function needsOf(needs: unknown): string[] {
  const names: string[] = [];
  if (needs === undefined) return names;
  if (!isArray(needs) || needs.length > MAX_NEEDS) {
    throw new TypeError(`the class's needs are a list of at most ${MAX_NEEDS} names of services`);
  }
  for (let i = 0; i < needs.length; i++) {
    const name: unknown = needs[i];
    if (typeof name !== "string" || includes(name, ","))
      throw new TypeError("a need is the name of a service");
    // One that a parent needs as well is one.
    if (!contains(names, clip(name, NEED_CHARACTERS))) names[names.length] = clip(name, NEED_CHARACTERS);
  }
  return names;
}

function contains(names: readonly string[], name: string): boolean {
  for (let i = 0; i < names.length; i++) if (names[i] === name) return true;
  return false;
}

/** @param state JSON, or "" where there is a newer version to pull */
export function update(name: string, version: number, state: string): number | string {
  try {
    setState(name, version, state);
    if (state !== "") Class.check?.(world.parameters, world.moe?.objects);
    return 0;
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
}

function setState(name: string, version: number, state: string): void {
  if (state === "") hear(name, version);
  else setObject(world.moe?.objects as object, name, version, state);
}

/** Sets the versions that the next events were made with, a JSON list. */
export function behind(versions: string): number | string {
  try {
    setBehind(parse(versions) as number[]);
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_OUT_OF_MEMORY", thrown);
  }
}

/** Sets a view of the producer's state, which lies in the inbox. */
export function context(name: string, bytes: number): number | string {
  try {
    setContext(name, decodeValues(new Bytes(new Bytes(inbox, 0, bytes))));
    return 0;
  } catch (thrown) {
    return describe("DELEGATE_FAILED", thrown);
  }
}

/** Writes the calls into the outbox. */
export function calls(): number | string {
  try {
    outWords[OUTBOX.calls] = 0;
    return writeValues(takeCalls());
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

function writeValues(named: readonly NamedValues[]): number {
  return hand(encodeValues(named));
}

/**
 * Constructs the modulator.
 *
 * @param objects JSON: name, version and state of each shared object
 * @param entropyBytes number of random bytes in the inbox
 * @param behindObjects number of shared objects that the modulators before this one read
 */
export function start(
  parameters: string,
  objects: string,
  timeMs: number,
  entropyBytes: number,
  behindObjects: number,
): number | string {
  try {
    if (entropyBytes > 0) setEntropy(new Bytes(new Bytes(inbox, 0, entropyBytes)));
    setTime(timeMs);
    setParameters(parameters === "" ? "null" : parameters);
    openVersions(behindObjects);
    const states = parse(objects) as (readonly [string, number, string])[];
    for (let i = 0; i < states.length; i++) {
      const state = states[i] as readonly [string, number, string];
      setState(state[0], state[1], state[2]);
    }
    Class.check?.(world.parameters, world.moe?.objects);
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
  try {
    setModulator(new Class(world.parameters, world.moe));
    refusePromise(modulator.installed(), "installed");
    finish();
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

/**
 * Runs the events in the inbox: start and end of each as words, then their bytes; 0 bytes for none.
 *
 * @param type the number of the events' type; 0 for opaque bytes
 */
export function run(
  bytes: number,
  count: number,
  ready: boolean,
  timeMs: number,
  type: number,
): number | string {
  try {
    setTime(timeMs);
    // A copy without zeroing first, by functions that the modulator cannot have patched.
    const copy = new Bytes(new Bytes(inbox, 0, bytes));
    const bounds = new Words(new Words(copy.buffer, 0, 2 * count));
    begin(bytes === 0 ? undefined : openChunk(copy, bounds, count, type, isFleeting));
  } catch (thrown) {
    return describe("MODULATOR_OUT_OF_MEMORY", thrown);
  }
  return proceed(ready);
}

/** Like `run`, on events in the producer's memory. That memory does not change any more: waiting events are not copied either. */
export function runInPlace(
  bytes: Uint8Array,
  bounds: ArrayLike<number>,
  count: number,
  ready: boolean,
  timeMs: number,
  type: number,
): number | string {
  setTime(timeMs);
  begin(openChunk(bytes, bounds, count, type, isFleeting));
  return proceed(ready);
}

/** Called when the modulator's period is over. */
export function period(ready: boolean, timeMs: number): number | string {
  try {
    setTime(timeMs);
    refusePromise(modulator.period(), "period");
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
  return proceed(ready);
}

export function remove(): number | string {
  try {
    modulator.removed();
    outWords[OUTBOX.calls] = waitingCalls();
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}
