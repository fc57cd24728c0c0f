import { JechoError, type Type } from "@jecho/shared";
import {
  EventsFrame,
  FLAG_URGENT,
  type Install,
  measureRun,
  type Stretch,
  writeRun,
} from "@jecho/shared/internal";
import { unsound } from "../sandbox/failures.ts";
import type { RunChunk } from "../sandbox/sandbox.ts";
import { OutputBudget } from "./budgets.ts";
import type { Surroundings } from "./surroundings.ts";

/** Traits that all events of a run share. */
export interface RunTraits {
  /** The versions of shared objects that they were made with, in the sandbox's notation. */
  readonly versions: readonly number[];
  readonly producer: number;
  readonly flags: number;
  /** Undefined for opaque bytes. */
  readonly type: Type | undefined;
}

/** Most bytes of a run with one event, besides the event itself. */
const EVENT_BYTES = 256;

/** Frame and view before anything is written. */
const NO_FRAME = new Uint8Array(0);
const NO_VIEW = new DataView(NO_FRAME.buffer);

/** Writes the events that one modulator lets through and makes: counted, within its limits, and checked where they come out of a sandbox. */
export class RunWriter {
  /** The type that the modulator declares for its output: then no input event can pass unchanged. */
  declared: Type | undefined;
  readonly #derived: number;
  /** Number of shared objects that the modulators before this one read. */
  readonly #behind: number;
  readonly #surroundings: Surroundings;
  readonly #isTrusted: boolean;
  /** Undefined for a trusted engine. */
  readonly #budget: OutputBudget | undefined;
  #raised = 0;
  #frame = NO_FRAME;
  #view = NO_VIEW;
  #batchBytes = 0;
  #batchEvents = 0;
  /** The newest input run, in which passing events lie, and the number of its events before this chunk and in it. */
  #input: Uint8Array | undefined;
  #before = 0;
  #given = 0;

  constructor({ derived, behind }: Pick<Install, "derived" | "behind">, surroundings: Surroundings) {
    this.#derived = derived;
    this.#behind = behind;
    this.#surroundings = surroundings;
    this.#isTrusted = surroundings.engine.isTrusted;
    this.#budget = this.#isTrusted ? undefined : new OutputBudget(surroundings.limits);
  }

  /** Count of the derived channel's events so far. */
  get raised(): number {
    return this.#raised;
  }

  /** Begins a batch, with limits of its own. */
  beginBatch(): void {
    this.#batchBytes = 0;
    this.#batchEvents = 0;
    this.#input = undefined;
    this.#before = 0;
    this.#given = 0;
    this.#budget?.refill();
  }

  /** Ends the batch. */
  endBatch(): void {
    this.#input = undefined;
  }

  /** Sets the chunk that the modulator is given next. */
  give({ bytes, bounds, end }: RunChunk): void {
    if (end > 0)
      this.#budget?.give(end, EVENT_BYTES * end + (bounds[2 * end - 1] as number) - (bounds[0] as number));
    this.#input = bytes;
    this.#before += this.#given;
    this.#given = end;
  }

  /** @throws JechoError `MODULATOR_OUTPUT_EXCEEDED`, `MODULATOR_FAILED` */
  write(events: readonly Stretch[], { versions: made, producer, flags, type }: RunTraits): void {
    const own = made.length - this.#behind;
    const versions = made.length > own || own > 1 ? made : undefined;
    const bytes = measureRun(events, versions);
    const count = this.#countBatch(events, bytes);
    const parameters = newestOf(made, own);
    const { passed } = this.#surroundings;
    if (passed !== undefined && events.every(({ bytes }) => bytes === this.#input)) {
      if (this.declared !== undefined) throw unsound();
      this.#raised += count;
      passed({
        derived: this.#derived,
        urgent: (flags & FLAG_URGENT) !== 0,
        parameters,
        versions: versions ?? [],
        ranges: events.flatMap(({ first, end }) => [this.#before + first, this.#before + end]),
      });
      return;
    }
    const [frame, view] = this.#room(bytes);
    const header = {
      channel: this.#derived,
      producer,
      raised: this.#raised,
      token: type?.token ?? 0n,
      parameters,
      flags,
      versions,
    };
    writeRun(frame, view, 0, header, events);
    if (!this.#isTrusted && type !== undefined) this.#check(events, type);
    this.#raised += count;
    this.#surroundings.write(frame.subarray(0, bytes));
  }

  #room(bytes: number): readonly [Uint8Array, DataView] {
    if (!this.#isTrusted && bytes <= this.#frame.byteLength) return [this.#frame, this.#view];
    const frame = (this.#isTrusted ? this.#surroundings.room?.(bytes) : undefined) ?? new Uint8Array(bytes);
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    // A frame that was handed on is not kept: each of many modulators would keep its newest.
    if (!this.#isTrusted) [this.#frame, this.#view] = [frame, view];
    return [frame, view];
  }

  #countBatch(events: readonly Stretch[], bytes: number): number {
    let count = 0;
    for (const { first, end } of events) count += end - first;
    this.#batchBytes += bytes;
    this.#batchEvents += count;
    const { outputBytes, outputEvents } = this.#surroundings.limits;
    if (this.#batchBytes > outputBytes || this.#batchEvents > outputEvents) {
      throw new JechoError(
        "MODULATOR_OUTPUT_EXCEEDED",
        `one batch made more than ${outputBytes} bytes or ${outputEvents} events`,
      );
    }
    this.#budget?.spend(count, bytes);
    return count;
  }

  /** Copies first and then checks: the modulator's memory may change at any time. */
  #check(events: readonly Stretch[], type: Type): void {
    const run = EventsFrame.at(this.#frame, 0, this.#view);
    let next = 0;
    for (const { bytes, first, end } of events) {
      const from = next;
      next += end - first;
      if (bytes === this.#input) {
        if (this.declared !== undefined) throw unsound();
        continue;
      }
      for (let i = from; i < next; i++) {
        try {
          type.verify(this.#view, run.eventStart(i), run.eventEnd(i));
        } catch (error) {
          throw new JechoError("MODULATOR_FAILED", `it made a broken event: ${(error as Error).message}`);
        }
      }
    }
  }
}

/** The newest of the last so many versions, which are those of the modulator's own objects. */
function newestOf(made: readonly number[], own: number): number {
  let newest = 0;
  for (let i = made.length - own; i < made.length; i++) newest = Math.max(newest, made[i] as number);
  return newest;
}
