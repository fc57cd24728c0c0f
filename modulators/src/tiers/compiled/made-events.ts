import { encodeEvent, JechoError, type Type, unpack } from "@jecho/shared";
import type { ReadEvent, Stretch } from "@jecho/shared/internal";
import type { RunChunk } from "../../sandbox/sandbox.ts";
import { NUMBER_ARRAYS } from "./known.ts";
import { stretchOf } from "./leaving-events.ts";
import { allParts, type OutputPart, type OutputPlan } from "./outputs.ts";
import { StoppedProgram } from "./stopped-program.ts";

type MadeFields = Record<string, unknown>;
interface MadePlan {
  readonly urgent: boolean;
  readonly reads: boolean;
  readonly writes: readonly WriteField[];
}
type WriteField = (made: MadeFields, from: MadeSource) => void;

/** Values that an event is made of. */
interface MadeSource {
  /** The event that came in; undefined where the plan copies nothing of it. */
  readonly event: object | undefined;
  readonly numbers: Float64Array;
  /** Index of the event's first number. */
  readonly first: number;
}

export interface EventMakerOptions {
  readonly plans: readonly OutputPlan[];
  /** Types of the events that come in, as they were written and as the modulator knows them; and of those that are made. */
  readonly writer: Type;
  readonly reader: Type;
  readonly output: Type;
  /** Reads events that come in by the names that the modulator knows. */
  readonly read: ReadEvent;
  readonly dataAt: (path: string) => unknown;
}

/** Makes the events that a program has computed the numbers of: as in the other tiers, by the encoder of all events. */
export class EventMaker {
  readonly #options: EventMakerOptions;
  readonly #plans: readonly MadePlan[];
  #view: DataView = new DataView(new ArrayBuffer(0));
  #chunkBytes: Uint8Array | undefined;

  constructor(options: EventMakerOptions) {
    this.#options = options;
    this.#plans = options.plans.map(({ urgent, parts }) => ({
      urgent,
      reads: allParts(parts).some(({ from }) => from === "event" || from === "field"),
      writes: parts.map(part => this.#writeOf(part)),
    }));
  }

  /** Whether events of this plan go first. */
  isUrgent(plan: number): boolean {
    return (this.#plans[plan] as MadePlan).urgent;
  }

  /**
   * Makes one event.
   *
   * @param plan number of its plan
   * @param index of the event in the chunk that it is made for
   * @param numbers that the program has left, those of this event from `first` on
   * @throws JechoError `MODULATOR_FAILED` where the event that came in is broken
   * @throws StoppedProgram where the one that is made cannot be encoded
   */
  make(
    plan: number,
    { bytes, bounds }: RunChunk,
    index: number,
    numbers: Float64Array,
    first: number,
  ): Stretch {
    const { reads, writes } = this.#plans[plan] as MadePlan;
    const { output } = this.#options;
    const [start, end] = [bounds[2 * index] as number, bounds[2 * index + 1] as number];
    const event = reads ? this.#eventAt(bytes, start, end) : undefined;
    try {
      const made: MadeFields = {};
      for (const write of writes) write(made, { event, numbers, first });
      return stretchOf(encodeEvent(output, made as never));
    } catch (error) {
      // The host says where in its author's text that is.
      throw new StoppedProgram((error as Error).message);
    }
  }

  /** The event that came in. What it points at is checked, for it is read without looking. */
  #eventAt(bytes: Uint8Array, start: number, end: number): object {
    if (bytes !== this.#chunkBytes) {
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#chunkBytes = bytes;
    }
    const { writer, read } = this.#options;
    try {
      writer.verify(this.#view, start, end);
    } catch (error) {
      throw new JechoError("MODULATOR_FAILED", (error as Error).message);
    }
    return read(this.#view, bytes, start);
  }

  #writeOf(part: OutputPart): WriteField {
    switch (part.from) {
      case "event":
        return (made, { event }) => Object.assign(made, unpack(event));
      case "field": {
        const { name, field } = part;
        return (made, { event }) => {
          made[name] = (event as MadeFields)[field];
        };
      }
      case "source": {
        const { name, text } = part;
        return made => {
          made[name] = text;
        };
      }
      case "data": {
        const { name, path } = part;
        const { dataAt } = this.#options;
        return made => {
          made[name] = dataAt(path);
        };
      }
      case "encoded": {
        const { name } = part;
        const { reader } = this.#options;
        const writes = part.parts.map(one => this.#writeOf(one));
        return (made, source) => {
          const inner: MadeFields = {};
          for (const write of writes) write(inner, source);
          made[name] = encodeEvent(reader, inner as never);
        };
      }
      case "token": {
        const { name } = part;
        const { token } = this.#options.writer;
        return made => {
          made[name] = token;
        };
      }
      case "none": {
        const { name } = part;
        return made => {
          made[name] = undefined;
        };
      }
      case "array": {
        const { name, slot, array } = part;
        const List = NUMBER_ARRAYS[array];
        return (made, { numbers, first }) => {
          const [start = 0, length = 0] = numbers.subarray(first + slot, first + slot + 2);
          made[name] = new (List as Float64ArrayConstructor)(numbers.buffer, start, length);
        };
      }
      case "values": {
        const { name, slot, count, array } = part;
        const List = NUMBER_ARRAYS[array];
        return (made, { numbers, first }) => {
          made[name] = List.from(numbers.subarray(first + slot, first + slot + count));
        };
      }
      case "value": {
        const { name, slot, isBoolean } = part;
        return (made, { numbers, first }) => {
          const value = numbers[first + slot] as number;
          made[name] = isBoolean ? value !== 0 : value;
        };
      }
    }
  }
}
