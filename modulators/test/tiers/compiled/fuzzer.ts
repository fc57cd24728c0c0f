import type { Modulator, SharedReference } from "@jecho/modulators";
import { modulatorFrom } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment, type TierEvents } from "@jecho/modulators/node";
import { encodeEvent, type Type, type, unpack } from "@jecho/shared";
import { type EventsFrame, encodeRun, FLAG_URGENT, parseFrame } from "@jecho/shared/internal";
import { HandClock } from "../../../src/tiers/hand-clock.ts";
import { functionSource } from "./function-source.ts";
import { randomFilter, randomState } from "./random-guards.ts";
import { type RandomProgram, randomProgram } from "./random-programs.ts";
import { FUZZED, MADE, randomEvent, seeded, TEXTS } from "./random-values.ts";

const CHANNEL = 1;
const Fuzzed = type("Fuzzed", FUZZED);
const Made = type("Made", MADE);
/** Programs that are installed at once. */
const TOGETHER = 8;
/** Runs that a program is given. */
const RUNS = 6;
/** Filters of one channel. */
const FILTERS = 40;
const SOURCE = { id: 1n, urgent: false };

/** A program whose compiled form and whose hosted one did not let the same events through. */
export interface Difference {
  readonly seed: number;
  readonly text: string;
  readonly compiled: string;
  readonly hosted: string;
}

export interface FuzzResult {
  /** Programs that were compiled, and pairs of such and an event. */
  programs: number;
  pairs: number;
  /** Programs that were refused, for the fuzzer writes some that are. */
  refused: number;
  /** Programs that stopped at some event, and went on in a host. Of those that were told to lose something, as fields or events that wait, nothing is compared. */
  stopped: number;
  readonly reasons: Map<string, number>;
  readonly differences: Difference[];
}

/** Runs random programs on random events, compiled and in isolated-vm, and compares what they let through, and how. */
export class Fuzzer implements AsyncDisposable {
  readonly #compiled = new Side({});
  readonly #hosted = new Side({ local: false, engine: "isolated-vm" });
  readonly result: FuzzResult = {
    programs: 0,
    pairs: 0,
    refused: 0,
    stopped: 0,
    reasons: new Map(),
    differences: [],
  };

  /**
   * Runs the programs of these seeds, each on as many events, until one lets through others.
   *
   * @param sabotage changes the texts of one side, for a test to see that a difference is found. Default: leaves them as they are
   * @returns the differences
   */
  async run(
    seeds: Iterable<number>,
    events: number,
    sabotage = (text: string) => text,
  ): Promise<readonly Difference[]> {
    const { differences } = this.result;
    const before = differences.length;
    let batch: number[] = [];
    for (const seed of seeds) {
      if (batch.push(seed) < TOGETHER) continue;
      await this.#batch(batch, events, sabotage);
      if (differences.length > before) return differences.slice(before);
      batch = [];
    }
    await this.#batch(batch, events, sabotage);
    return differences.slice(before);
  }

  /**
   * Runs random filters on as many channels, each with many of them, while the shared object that they read changes and some wait.
   *
   * @returns the differences
   */
  async runFilters(first: number, channels: number, events: number): Promise<readonly Difference[]> {
    const { differences } = this.result;
    const before = differences.length;
    for (let seed = first; seed < first + channels; seed++) await this.#channel(seed, events);
    return differences.slice(before);
  }

  async #channel(seed: number, events: number): Promise<void> {
    const random = seeded(seed);
    const sides = [this.#compiled, this.#hosted];
    const all: { derived: number; text: string }[] = [];
    let version = 1;
    const object = `shared ${seed}`;
    const shared: SharedReference = {
      id: object,
      version,
      state: { level: seed, key: TEXTS[seed % TEXTS.length] },
    };
    for (let i = 0; i < FILTERS; i++) {
      const { text, isClass } = randomFilter(random);
      const parameters = { level: Math.floor(random() * 100 - 30), key: TEXTS[i % TEXTS.length] as string };
      const options = { parameters, objects: { shared } };
      const modulator = isClass ? modulatorFrom(text, options) : { source: functionSource(text), ...options };
      if (await this.#install(i + 1, modulator, false)) all.push({ derived: i + 1, text });
    }
    for (let left = events; left > 0; ) {
      const count = Math.min(left, 1 + Math.floor(random() ** 3 * 40));
      left -= count;
      const run = Array.from({ length: count }, () => encodedEvent(random));
      for (const side of sides) side.enqueue(run);
      if (random() < 0.3) {
        // A host may be at older runs, which have it, too.
        await this.#hosted.settled();
        const update = { object, version: ++version, state: randomState(random) };
        for (const side of sides) side.update(update);
      }
      if (random() < 0.9) continue;
      await this.#hosted.settled();
      for (const side of sides)
        for (const { derived } of all) side.flow(derived, derived % 5 !== version % 5);
    }
    await this.#hosted.settled();
    for (const side of sides) for (const { derived } of all) side.flow(derived, true);
    await this.#compare(seed, all, events);
  }

  /** @returns whether it is compiled, and so installed on both sides */
  async #install(
    derived: number,
    modulator: Modulator,
    makes: boolean,
    compiled = modulator,
  ): Promise<boolean> {
    const { result } = this;
    const why = await this.#compiled.install(derived, compiled, makes);
    if (why === "") {
      const failure = await this.#hosted.install(derived, modulator, makes).then(
        () => "",
        (error: Error) => error.message,
      );
      if (failure === "") return true;
      this.#compiled.take(derived);
      result.differences.push({
        seed: derived,
        text: modulator.source,
        compiled: "installed",
        hosted: failure,
      });
      return false;
    }
    result.refused++;
    const general = why.replace(/ \(line .*/, "").replaceAll(/"[^"]*"|\d+/g, "_");
    result.reasons.set(general, (result.reasons.get(general) ?? 0) + 1);
    return false;
  }

  async #compare(
    seed: number,
    installed: readonly { readonly derived: number; readonly text: string }[],
    events: number,
  ): Promise<void> {
    const { result } = this;
    // Programs that cost too much by an event go on in the host there, too.
    await Promise.all([this.#compiled.settled(), this.#hosted.settled()]);
    for (const { derived, text } of installed) {
      result.programs++;
      result.pairs += events;
      const stopped = this.#compiled.hasStopped(derived);
      const [compiled, hosted] = [this.#compiled.take(derived, stopped), this.#hosted.take(derived, stopped)];
      if (stopped) result.stopped++;
      if (this.#compiled.hasLost(derived)) continue;
      if (compiled !== hosted) result.differences.push({ seed, text, compiled, hosted });
    }
  }

  async #batch(seeds: readonly number[], events: number, sabotage: (text: string) => string): Promise<void> {
    const all = seeds.map(seed => ({ seed, ...randomProgram(seeded(seed)) }));
    const random = seeded(~(seeds[0] as number));
    const encoded = Array.from({ length: events }, () => encodedEvent(random));
    const installed: { derived: number; text: string }[] = [];
    for (const program of all) {
      const modulator = modulatorOf(program);
      const compiled = { ...modulator, source: sabotage(modulator.source) };
      if (await this.#install(program.seed, modulator, program.makes, compiled))
        installed.push({ derived: program.seed, text: program.text });
    }
    // Several runs: what a modulator keeps has to outlive each. Between them time passes, and some are not ready.
    const sides = [this.#compiled, this.#hosted];
    const step = Math.ceil(events / RUNS);
    for (let at = 0; at < events; at += step) {
      for (const side of sides) side.enqueue(encoded.slice(at, at + step));
      const passes = Math.floor(random() * 60);
      for (const side of sides) await side.pass(passes);
      for (const side of sides)
        for (const { derived } of installed)
          side.flow(derived, at + step >= events || (derived + at) % 3 > 0);
    }
    for (const side of sides) await side.pass(20);
    await this.#compare(seeds[0] as number, installed, events);
  }

  async close(): Promise<void> {
    await Promise.all([this.#compiled.close(), this.#hosted.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Some have texts whose bytes are broken UTF-8. */
function encodedEvent(random: () => number): Uint8Array {
  const event = randomEvent(random);
  const bytes = encodeEvent(Fuzzed, event as never);
  const { name } = event;
  // Shorter ones may be found elsewhere in the event.
  if (random() < 0.8 || typeof name !== "string" || name.length < 4) return bytes;
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(`${name}\0`);
  const length = Buffer.byteLength(name);
  if (at >= 0) bytes[at + Math.floor(random() * length)] = 128 + Math.floor(random() * 128);
  return bytes;
}

function modulatorOf({ text, isClass, parameters }: RandomProgram): Modulator {
  return isClass ? modulatorFrom(text, { parameters }) : { source: functionSource(text), parameters };
}

/** One environment, and what came out of it. */
class Side {
  readonly #environment: ModulatorEnvironment;
  readonly #out = new Map<number, string[]>();
  /** Derived channels with events that are made. */
  readonly #making = new Set<number>();
  /** The newest event that each has been through, and the number of all that were given. */
  readonly #seen = new Map<number, number>();
  readonly #stopped = new Set<number>();
  readonly #lost = new Set<number>();
  readonly #clock = new HandClock(1_000_000);
  #raised = 0;

  constructor(options: ConstructorParameters<typeof ModulatorEnvironment>[0]) {
    const events: TierEvents = {
      onEvents: (frame, derived) => this.#receive(frame, derived),
      onSeen: (derived, { through }) => this.#seen.set(derived, through),
      onTier: derived => this.#stopped.add(derived),
      onImpaired: derived => this.#lost.add(derived),
      onRemoved: (derived, error) => this.#put(derived, `removed: ${error.message}`),
    };
    const limits = {
      callMs: 60_000,
      installMs: 60_000,
      timeShare: 1,
      outputEvents: 1 << 24,
      outputBytes: 1 << 30,
    };
    this.#environment = new ModulatorEnvironment(
      { ...options, limits, mostPerEvent: 1e9 },
      events,
      this.#clock,
    );
  }

  /** @returns why it was not compiled; "" where it was */
  async install(derived: number, modulator: Modulator, makes: boolean): Promise<string> {
    if (makes) this.#making.add(derived);
    else this.#making.delete(derived);
    const table = modulatorTable(modulator);
    const installed = this.#environment.install({
      derived,
      channel: CHANNEL,
      schema: Fuzzed.schema,
      modulator: table,
      // Each is somebody else's: what one subject may have compiled is bounded.
      by: `the writer of ${derived}`,
    });
    const { why = "" } = this.#environment.placementOf(derived) ?? {};
    // What is refused may be because it cannot be installed at all.
    await (why === "" ? installed : installed.catch(() => {}));
    if (why !== "") this.#environment.remove(derived);
    return why;
  }

  enqueue(events: readonly Uint8Array[]): void {
    const parts = events.map(bytes => ({ bytes, start: 0, end: bytes.byteLength }));
    const header = { channel: CHANNEL, producer: 1, raised: 0, token: Fuzzed.token, parameters: 0, flags: 0 };
    const bytes = encodeRun(header, parts);
    const run = parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength) as EventsFrame;
    const after = this.#raised;
    this.#raised += events.length;
    this.#environment.enqueue(run, undefined, { source: SOURCE, after, through: this.#raised });
  }

  update(update: Parameters<ModulatorEnvironment["update"]>[0]): void {
    this.#environment.update(update);
  }

  flow(derived: number, ready: boolean): void {
    this.#environment.flow(derived, ready);
  }

  settled(): Promise<void> {
    return this.#environment.settled();
  }

  pass(ms: number): Promise<void> {
    return this.#clock.pass(ms, () => this.settled());
  }

  /** Whether a modulator that was compiled is hosted now. */
  hasStopped(derived: number): boolean {
    return this.#stopped.delete(derived);
  }

  /** Whether a modulator was told to have lost something. */
  hasLost(derived: number): boolean {
    return this.#lost.delete(derived);
  }

  /** Text of what a modulator was given and let through; the modulator is gone then. */
  take(derived: number, hasStopped = false): string {
    this.#environment.tellSeen(derived);
    // A host counts what it was given itself.
    const given = hasStopped ? "some" : this.#environment.modulators.get(derived)?.eventsIn;
    const text = [`${given} to ${this.#seen.get(derived)}:`, ...(this.#out.get(derived) ?? [])].join(" ");
    this.#out.delete(derived);
    this.#seen.delete(derived);
    this.#making.delete(derived);
    this.#environment.remove(derived);
    return text;
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  #receive(frame: EventsFrame, derived: number): void {
    for (let i = 0; i < frame.count; i++) {
      const bytes = frame.bytes.subarray(frame.eventStart(i), frame.eventEnd(i));
      if (this.#making.has(derived)) {
        this.#put(derived, `${frame.isUrgent ? "!" : ""}${valuesOf(bytes, frame.token)}`);
        continue;
      }
      const mark = `${frame.parameters}${(frame.flags & FLAG_URGENT) !== 0 ? "!" : ""} `;
      this.#put(derived, `${mark}${Buffer.from(bytes).toString("latin1").length}:${hashOf(bytes)}`);
    }
  }

  #put(derived: number, line: string): void {
    const list = this.#out.get(derived) ?? [];
    list.push(line);
    this.#out.set(derived, list);
  }
}

/** NaN has bits that engines choose: events that are made are compared by their values, and their length. */
function valuesOf(bytes: Uint8Array, token: bigint): string {
  const of = token === Fuzzed.token ? Fuzzed : Made;
  if (token !== of.token) throw new Error(`it made events of an unknown type, ${token}`);
  const values = Object.entries(unpack((of as Type).decode(bytes.slice())) as object).map(([name, value]) => {
    if (name === "raw" && (value as Uint8Array).length > 0)
      return `raw=(${valuesOf(value as Uint8Array, Fuzzed.token)})`;
    const list = ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : [value];
    return `${name}=${list.map(textOf).join()}`;
  });
  return `${bytes.byteLength}:${values.join(";")}`;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return Object.is(value, -0) ? "-0" : `${value}`;
}

function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
