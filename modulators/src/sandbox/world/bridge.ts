import { type } from "@jecho/shared";
import { LEAST_PERIOD_MS, OUTBOX, OUTBOX_HEAD, PROCEED } from "../sandbox.ts";
import { Chunk, type Located, setTypes } from "./events.ts";
import { lockdown } from "./lockdown.ts";
import {
  FifoModulator,
  isUrgent,
  locateOutput,
  Modulator,
  openWorld,
  setObject,
  urgent,
  world,
} from "./moe.ts";
import { Bytes, clip, getPrototypeOf, promisePrototype, setBytes, Words } from "./primordials.ts";

/*
 * The inside of a sandbox, as the host sees it: a few functions that take and return numbers and text. Events travel
 * through two blocks of memory, the inbox and the outbox. Every function returns a number, or text that tells of an
 * error: code, message and stack, parted by NUL.
 */

export { FifoModulator, Modulator, type, urgent };

interface ModulatorClass {
  new (parameters: unknown, moe: unknown): Modulator;
  readonly output?: unknown;
  readonly needs?: unknown;
  check?(parameters: unknown, objects: unknown): void;
}

const ERROR_CHARACTERS = 2000;
/** What a timer takes. */
const LONGEST_PERIOD_MS = 0x7fff_ffff;

let inbox: SharedArrayBuffer;
let outBytes: Uint8Array;
let outWords: Uint32Array;
let Class: ModulatorClass;
let modulator: Modulator;
let chunk: Chunk | undefined;
let next = 0;
let held: Located | undefined;
let heldVersion = 0;
let heldUrgent = false;

/** Gives the world its memory. Called again where an event needs more. */
export function attach(inMemory: SharedArrayBuffer, outMemory: SharedArrayBuffer): number {
  inbox = inMemory;
  outBytes = new Bytes(outMemory);
  outWords = new Words(outMemory, 0, OUTBOX_HEAD / 4);
  return 0;
}

/**
 * Takes the modulator's class out of its module's namespace. The schema of its input lies in the inbox.
 *
 * @returns bytes of the output's schema in the outbox, 0 where the class declares none
 */
export function load(namespace: { default?: unknown }, schemaBytes: number): number | string {
  try {
    const found = namespace.default;
    if (typeof found !== "function" || !(found.prototype instanceof Modulator)) {
      throw new TypeError("the module's default export is not a class that extends Modulator of jecho:moe");
    }
    Class = found as ModulatorClass;
    const service = missingService(Class.needs);
    if (service !== undefined) {
      return describe(
        "SERVICE_MISSING",
        new TypeError(`it needs the service "${service}", which is not offered here`),
      );
    }
    const schema = schemaBytes === 0 ? undefined : new Bytes(new Bytes(inbox, 0, schemaBytes));
    const declared = setTypes(schema, Class.output);
    if (declared === undefined) return 0;
    setBytes(outBytes, declared.schema, 0);
    return declared.schema.byteLength;
  } catch (thrown) {
    return describe("MODULATOR_INVALID", thrown);
  }
}

/** The first of the services that a modulator lists which it cannot have. Nobody offers any as yet. */
function missingService(needs: unknown): string | undefined {
  if (needs === undefined) return undefined;
  const list = needs as { readonly [i: number]: unknown; readonly length?: unknown };
  if (typeof list !== "object" || typeof list.length !== "number") {
    throw new TypeError("the class's needs are a list of names of services");
  }
  return list.length === 0 ? undefined : clip(`${list[0]}`, 64);
}

export function open(parameters: string, queueEvents: number): number | string {
  try {
    openWorld(parameters === "" ? "null" : parameters, queueEvents);
    return 0;
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
}

/** @param check is the modulator there, to be asked about the new state? */
export function update(name: string, version: number, state: string, check: boolean): number | string {
  try {
    setObject(name, version, state);
    if (check) Class.check?.(world.parameters, world.moe?.objects);
    return 0;
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
}

export function start(): number | string {
  try {
    Class.check?.(world.parameters, world.moe?.objects);
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
  try {
    modulator = new Class(world.parameters, world.moe);
    refusePromise(modulator.installed(), "installed");
    outWords[OUTBOX.periodMs] = periodOf(modulator);
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

/** Takes the inbox: for each event its start and end as words, then the events; 0 bytes for none. */
export function run(bytes: number, count: number, ready: boolean): number | string {
  try {
    // A copy without zeroing first. What it is made of is out of reach for any patch.
    chunk = bytes === 0 ? undefined : new Chunk(new Bytes(new Bytes(inbox, 0, bytes)), count);
    next = 0;
  } catch (thrown) {
    return describe("MODULATOR_OUT_OF_MEMORY", thrown);
  }
  return proceed(ready);
}

/** Its period is over. */
export function period(ready: boolean): number | string {
  try {
    refusePromise(modulator.period(), "period");
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
  return proceed(ready);
}

export function remove(): number | string {
  try {
    modulator.removed();
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

function periodOf({ periodMs }: Modulator): number {
  if (typeof periodMs !== "number" || !(periodMs >= 0)) {
    throw new TypeError("periodMs is a number of milliseconds from 0");
  }
  if (periodMs === 0) return 0;
  return periodMs > LEAST_PERIOD_MS
    ? periodMs < LONGEST_PERIOD_MS
      ? periodMs
      : LONGEST_PERIOD_MS
    : LEAST_PERIOD_MS;
}

/** Goes on until all events are through, or the outbox is full. */
export function proceed(ready: boolean): number | string {
  try {
    outWords[OUTBOX.count] = 0;
    outWords[OUTBOX.wanted] = 0;
    const done = advance(ready);
    outWords[OUTBOX.dropped] = world.dropped;
    world.dropped = 0;
    if (!done) return PROCEED.more;
    chunk = undefined;
    outWords[OUTBOX.periodMs] = periodOf(modulator);
    return PROCEED.done;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

function advance(ready: boolean): boolean {
  if (ready && !drain()) return false;
  if (chunk === undefined) return true;
  while (next < chunk.count) {
    refusePromise(modulator.enqueue(chunk.event(next++)), "enqueue");
    if (ready && !drain()) return false;
  }
  return true;
}

/** @returns false where the outbox is full */
function drain(): boolean {
  for (;;) {
    if (held === undefined) {
      world.dequeuedVersion = world.version;
      const event = modulator.dequeue();
      if (event === undefined) return true;
      if (typeof event !== "object" || event === null)
        throw new TypeError("dequeue returns an event or undefined");
      refusePromise(event, "dequeue");
      held = locateOutput(event);
      heldVersion = world.dequeuedVersion;
      heldUrgent = isUrgent(event);
    }
    if (!writeOut(held)) return false;
    held = undefined;
  }
}

function writeOut({ bytes, start, end }: Located): boolean {
  const count = outWords[OUTBOX.count] as number;
  const record = OUTBOX.records + OUTBOX.recordWords * count;
  const last = count === 0 ? OUTBOX_HEAD : (outWords[record - OUTBOX.recordWords + 2] as number);
  const at = (last + 7) & -8;
  const stop = at + end - start;
  if (count === OUTBOX.maxRecords || stop > outBytes.length) {
    if (count === 0) outWords[OUTBOX.wanted] = end - start;
    return false;
  }
  setBytes(outBytes, new Bytes(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, end - start), at);
  outWords[record] = heldVersion;
  outWords[record + 1] = at;
  outWords[record + 2] = stop;
  outWords[record + 3] = heldUrgent ? 1 : 0;
  outWords[OUTBOX.count] = count + 1;
  return true;
}

function refusePromise(result: unknown, intercept: string): void {
  if (typeof result === "object" && result !== null && getPrototypeOf(result) === promisePrototype) {
    throw new TypeError(`${intercept} returned a promise; intercepts are synchronous`);
  }
}

/** Text of whatever was thrown. Reading it may run the modulator's code, which the call's deadline covers. */
function describe(code: string, thrown: unknown): string {
  let message = `a value of type ${thrown === null ? "null" : typeof thrown} was thrown`;
  let stack = "";
  try {
    if (typeof thrown === "string") message = clip(thrown, ERROR_CHARACTERS);
    else if (typeof thrown === "object" && thrown !== null) {
      const { message: text, stack: trace } = thrown as { message?: unknown; stack?: unknown };
      if (typeof text === "string") message = clip(text, ERROR_CHARACTERS);
      if (typeof trace === "string") stack = clip(trace, 2 * ERROR_CHARACTERS);
    }
  } catch {
    message = "a value was thrown that throws when it is read";
  }
  return `${code}\0${message}\0${stack}`;
}

lockdown();
