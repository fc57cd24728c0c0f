import { type, unpack } from "@jecho/shared";
import { decodeValues, encodeValues, type NamedValues } from "../../values.ts";
import { LEAST_PERIOD_MS, OUTBOX, OUTBOX_HEAD, PROCEED } from "../sandbox.ts";
import {
  addType,
  bytesOf,
  type Chunk,
  closeChunk,
  eventOf,
  type Located,
  locateOutput,
  openChunk,
  passed,
  readSchema,
  setTypes,
  typeToken,
} from "./events.ts";
import type { Memory } from "./memory.ts";
import {
  FifoModulator,
  isFirstOut,
  isUrgent,
  Modulator,
  openWorld,
  urgent,
  waitingOf,
  world,
} from "./moe.ts";
import { hear, openVersions, present, setBehind, setObject } from "./objects.ts";
import {
  Bytes,
  clip,
  getPrototypeOf,
  includes,
  isArray,
  parse,
  promisePrototype,
  setBytes,
  Words,
} from "./primordials.ts";
import { counts, offerServices, setContext, setTime, takeCalls, waitingCalls } from "./services.ts";

/*
 * The inside of a sandbox, as the host sees it: a few functions that take and return numbers and text. Events travel
 * through two blocks of memory, the inbox and the outbox. Every function returns a number, or text that tells of an
 * error: code, message and stack, parted by \x1f, for some engines end text at NUL.
 */

export { bytesOf, FifoModulator, Modulator, type, typeToken, unpack, urgent };

interface ModulatorClass {
  new (parameters: unknown, moe: unknown): Modulator;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly needs?: unknown;
  readonly keepsEvents?: unknown;
  check?(parameters: unknown, objects: unknown): void;
}

const ERROR_CHARACTERS = 2000;
const MAX_NEEDS = 32;
/** What a timer takes. */
const LONGEST_PERIOD_MS = 0x7fff_ffff;

/** To write a float64 as two words. */
const rate = new Float64Array(1);
const rateWords = new Words(rate.buffer);

/**
 * Takes events that leave: that one which `at` says now, and those that lie behind it, up to but without `end`. Says whether there was
 * room for them.
 */
type Put = (at: Located, end: number, versions: readonly number[], urgent: boolean) => boolean;

const blank = () => ({
  inbox: undefined as unknown as ArrayBufferLike,
  outBytes: undefined as unknown as Uint8Array,
  outWords: undefined as unknown as Uint32Array,
  Class: undefined as unknown as ModulatorClass,
  modulator: undefined as unknown as Modulator,
  chunk: undefined as Chunk | undefined,
  next: 0,
  /** What found no room: the events from that one on, up to but without `heldEnd`. */
  held: undefined as Located | undefined,
  heldEnd: 0,
  heldVersions: [] as readonly number[],
  /** The versions that were written to the outbox last, and where they lie. */
  writtenVersions: undefined as readonly number[] | undefined,
  writtenAt: 0,
  /** Where what was written to the outbox last ends. */
  writtenEnd: 0,
  heldUrgent: false,
  put: writeOut as Put,
  services: undefined as Record<string, unknown> | undefined,
  needed: [] as string[],
});
let { inbox, outBytes, outWords, Class, modulator, chunk, next, held, put, services, needed } = blank();
let { heldEnd, heldVersions, writtenVersions, writtenAt, writtenEnd, heldUrgent } = blank();

export const bridgeMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => {
    const own = { inbox, outBytes, outWords, Class, modulator, chunk, next, held, put, services, needed };
    return { ...own, heldEnd, heldVersions, writtenVersions, writtenAt, writtenEnd, heldUrgent };
  },
  enter: memory => {
    ({ inbox, outBytes, outWords, Class, modulator, chunk, next, held, put, services, needed } = memory);
    ({ heldEnd, heldVersions, writtenVersions, writtenAt, writtenEnd, heldUrgent } = memory);
  },
};

/** Gives the world its memory. Called again where an event needs more. */
export function attach(inMemory: ArrayBufferLike, outMemory: ArrayBufferLike): number {
  inbox = inMemory;
  outBytes = new Bytes(outMemory);
  outWords = new Words(outMemory, 0, outBytes.length / 4);
  return 0;
}

/** The services that may be called, out of the namespace of the module that brings them. */
export function serve(namespace: { default?: Record<string, unknown> }): number {
  services = namespace.default as Record<string, unknown>;
  return 0;
}

/**
 * Takes the modulator's class out of its module's namespace. The schema of its input, of type 1, lies in the inbox.
 *
 * @param offered the names of what is offered, each behind + where it is granted and - where it is not, parted by commas
 * What is left in the outbox, in parts of which each may be empty: the schema of the output that the class declares; that of what it was
 * written for; and what it needs, as names.
 */
export function load(
  namespace: { default?: unknown },
  schemaBytes: number,
  offered: string,
): number | string {
  try {
    const found = namespace.default;
    if (typeof found !== "function" || !(found.prototype instanceof Modulator)) {
      throw new TypeError("the module's default export is not a class that extends Modulator of jecho:moe");
    }
    Class = found as ModulatorClass;
    needed = needsOf(Class.needs);
    for (let i = 0; i < needed.length; i++) {
      const name = needed[i] as string;
      if (includes(`,${offered},`, `,+${name},`)) continue;
      const refused = includes(`,${offered},`, `,-${name},`);
      return refused
        ? describe("SERVICE_NOT_GRANTED", `it needs "${name}", for which its consumer lacks the capability`)
        : describe("SERVICE_MISSING", `it needs "${name}", which is not offered here`);
    }
    const schema = schemaBytes === 0 ? undefined : new Bytes(new Bytes(inbox, 0, schemaBytes));
    const made = setTypes(schema, Class.input, Class.output);
    const names = needed.length === 0 ? undefined : encodeValues(needed.map(name => ({ name, values: [] })));
    const read = putPart(1, readSchema(), putPart(0, made?.schema, OUTBOX_HEAD));
    putPart(2, names, read);
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_INVALID", thrown);
  }
}

/** @returns where the next part goes */
function putPart(part: number, bytes: Uint8Array | undefined, at: number): number {
  outWords[OUTBOX.parts + part] = bytes === undefined ? 0 : bytes.byteLength;
  if (bytes === undefined) return at;
  setBytes(outBytes, bytes, at);
  return at + bytes.byteLength;
}

/** A further type of the events that come in, of the next number; its schema lies in the inbox. */
export function further(schemaBytes: number): number | string {
  try {
    addType(new Bytes(new Bytes(inbox, 0, schemaBytes)));
    return 0;
  } catch (thrown) {
    return describe("TYPE_INVALID", thrown);
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
    names[i] = clip(name, 140);
  }
  return names;
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

/** What the events that come next are made with, as a JSON list of versions. */
export function behind(versions: string): number | string {
  try {
    setBehind(parse(versions) as number[]);
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_OUT_OF_MEMORY", thrown);
  }
}

/** A view of the producer's state, in the inbox. */
export function context(name: string, bytes: number): number | string {
  try {
    setContext(name, decodeValues(new Bytes(new Bytes(inbox, 0, bytes))));
    return 0;
  } catch (thrown) {
    return describe("DELEGATE_FAILED", thrown);
  }
}

/** What was called, into the outbox. */
export function calls(): number | string {
  try {
    outWords[OUTBOX.calls] = 0;
    return writeValues(takeCalls());
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

/** Leaves values for the host where events lie: what stands before them is read later. */
function writeValues(named: readonly NamedValues[]): number {
  const bytes = encodeValues(named);
  setBytes(outBytes, bytes, OUTBOX_HEAD);
  return bytes.byteLength;
}

/**
 * Makes the modulator.
 *
 * @param objects JSON: of each shared object its name, version and state; "" for none
 * @param entropyBytes bytes in the inbox that nobody can guess
 * @param behindObjects shared objects that the modulators before this one read
 */
export function start(
  parameters: string,
  objects: string,
  queueEvents: number,
  timeMs: number,
  entropyBytes: number,
  behindObjects: number,
): number | string {
  try {
    const entropy = new Bytes(new Bytes(inbox, 0, entropyBytes));
    const offered = offerServices(needed, services, entropy);
    setTime(timeMs);
    openWorld(parameters === "" ? "null" : parameters, { ...offered, queueEvents });
    openVersions(behindObjects);
    const states = objects === "" ? [] : (parse(objects) as (readonly [string, number, string])[]);
    for (let i = 0; i < states.length; i++) {
      const state = states[i] as readonly [string, number, string];
      setState(state[0], state[1], state[2]);
    }
    Class.check?.(world.parameters, world.moe?.objects);
  } catch (thrown) {
    return describe("PARAMETERS_INVALID", thrown);
  }
  try {
    modulator = new Class(world.parameters, world.moe);
    refusePromise(modulator.installed(), "installed");
    finish();
    return 0;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

/**
 * Takes the inbox: for each event its start and end as words, then the events; 0 bytes for none.
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
    // A copy without zeroing first. What it is made of is out of reach for any patch.
    const copy = new Bytes(new Bytes(inbox, 0, bytes));
    chunk =
      bytes === 0
        ? undefined
        : openChunk(copy, new Words(new Words(copy.buffer, 0, 2 * count)), count, type, isFleeting());
    next = 0;
  } catch (thrown) {
    return describe("MODULATOR_OUT_OF_MEMORY", thrown);
  }
  return proceed(ready);
}

/** For a world without a wall: what leaves is handed over where it lies. */
export function handOver(take: Put): void {
  put = take;
}

/** As `run`, with the events where they lie. Nobody writes that memory any more: what is held is not copied either. */
export function runInPlace(
  bytes: Uint8Array,
  bounds: ArrayLike<number>,
  ready: boolean,
  timeMs: number,
  type: number,
): number | string {
  setTime(timeMs);
  chunk = openChunk(bytes, bounds, bounds.length / 2, type, isFleeting());
  next = 0;
  return proceed(ready);
}

/** Its period is over. */
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

/** Does the modulator keep no event beyond its call? */
function isFleeting(): boolean {
  return Class.keepsEvents === false;
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

/** @returns 0 for every event */
function rateOf({ mostPerSecond = 0 }: Modulator): number {
  if (typeof mostPerSecond !== "number" || !(mostPerSecond >= 0)) {
    throw new TypeError("mostPerSecond is a number of events a second from 0, which stands for every event");
  }
  return mostPerSecond < Infinity ? mostPerSecond : 0;
}

/** Goes on until all events are through, or the outbox is full. */
export function proceed(ready: boolean): number | string {
  try {
    outWords[OUTBOX.count] = 0;
    outWords[OUTBOX.wanted] = 0;
    writtenEnd = OUTBOX_HEAD;
    const done = advance(ready);
    outWords[OUTBOX.dropped] = world.dropped;
    counts.dropped += world.dropped;
    world.dropped = 0;
    if (!done) return PROCEED.more;
    closeChunk();
    chunk = undefined;
    finish();
    return PROCEED.done;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

function finish(): void {
  outWords[OUTBOX.periodMs] = periodOf(modulator);
  rate[0] = rateOf(modulator);
  outWords[OUTBOX.mostPerSecond] = rateWords[0] as number;
  outWords[OUTBOX.mostPerSecond + 1] = rateWords[1] as number;
  outWords[OUTBOX.calls] = waitingCalls();
}

function advance(ready: boolean): boolean {
  if (ready && !drain()) return false;
  if (chunk === undefined) return true;
  const its = chunk;
  const waiting = ready ? waitingOf(modulator) : undefined;
  /** From where on events have been let through that have not left; they leave together. */
  let first = its.count;
  while (next < its.count) {
    const i = next++;
    counts.enqueued++;
    const event = eventOf(its, i);
    const mayPass = waiting !== undefined && isFirstOut(modulator);
    if (mayPass) waiting.isOpen = true;
    const result = modulator.enqueue(event) as unknown;
    if (result !== undefined) refusePromise(result, "enqueue");
    if (!ready) continue;
    const isEmpty = mayPass && waiting.first === waiting.next && isFirstOut(modulator);
    if (isEmpty && waiting.passes && !world.hasUrgent) {
      waiting.passes = false;
      counts.dequeued++;
      if (first > i) first = i;
      continue;
    }
    if (first < i && !leave(its, first, i)) return false;
    first = its.count;
    if (isEmpty && !waiting.passes) continue;
    if (!drain()) return false;
  }
  return first === its.count || leave(its, first, its.count);
}

/** Events of a run leave as they came in. @returns false where the outbox is full */
function leave({ at: { bytes, bounds, type } }: Chunk, index: number, end: number): boolean {
  return putOrHold({ bytes, bounds, index, type }, end, present.versions, false);
}

function putOrHold(at: Located, end: number, versions: readonly number[], urgent: boolean): boolean {
  if (put(at, end, versions, urgent)) return true;
  held = at;
  heldEnd = end;
  heldVersions = versions;
  heldUrgent = urgent;
  return false;
}

/** @returns false where the outbox is full */
function drain(): boolean {
  if (held !== undefined) {
    if (!put(held, heldEnd, heldVersions, heldUrgent)) return false;
    held = undefined;
  }
  for (;;) {
    world.dequeuedVersions = present.versions;
    const event = modulator.dequeue();
    if (event === undefined) return true;
    const at = passed(event) ?? locateDequeued(event);
    counts.dequeued++;
    if (!putOrHold(at, at.index + 1, world.dequeuedVersions, isUrgent(event))) return false;
  }
}

function locateDequeued(event: unknown): Located {
  if (typeof event !== "object" || event === null)
    throw new TypeError("dequeue returns an event or undefined");
  refusePromise(event, "dequeue");
  return locateOutput(event);
}

/** Writes one event that was made, or says which of those that came in leave: the host has these itself. */
function writeOut(at: Located, end: number, versions: readonly number[], urgent: boolean): boolean {
  const { bytes, bounds, index, type } = at;
  const count = outWords[OUTBOX.count] as number;
  const record = OUTBOX.records + OUTBOX.recordWords * count;
  const passes = bytes === chunk?.at.bytes;
  const start = bounds[2 * index] as number;
  const size = passes ? 0 : (bounds[2 * index + 1] as number) - start;
  const front = (writtenEnd + 7) & -8;
  // Several versions are written once for all events in a row that were made with them; their place stands for them.
  const { isPlain } = present;
  const isNew = !isPlain && (count === 0 || versions !== writtenVersions);
  const place = isNew ? (front + 4 * versions.length + 7) & -8 : front;
  const stop = place + size;
  if (count === OUTBOX.maxRecords || stop > outBytes.length) {
    if (count === 0) outWords[OUTBOX.wanted] = size;
    return false;
  }
  if (isNew) {
    for (let i = 0; i < versions.length; i++) outWords[front / 4 + i] = versions[i] as number;
    writtenVersions = versions;
    writtenAt = front;
  }
  if (!passes)
    setBytes(outBytes, new Bytes(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, size), place);
  writtenEnd = stop;
  outWords[record] = isPlain ? (versions[0] ?? 0) : writtenAt;
  outWords[record + 1] = passes ? index : place;
  outWords[record + 2] = passes ? end : stop;
  outWords[record + 3] = OUTBOX.type * type + (passes ? OUTBOX.passed : 0) + (urgent ? OUTBOX.urgent : 0);
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
  return `${code}\x1f${message}\x1f${stack}`;
}
