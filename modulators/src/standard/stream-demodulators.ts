import { JechoError, unpack } from "@jecho/shared";
import { undiffer } from "../../standard/differ.js";
import { unpackZeros } from "../../standard/zero-runs.js";
import type { Demodulator, EventSource } from "../authoring/modulator.ts";
import { keepNewest } from "../running/newest-entries.ts";

/** An event of a stream, as its difference from the one before. */
interface Difference {
  readonly token: bigint;
  /** Each sandbox makes a stream of its own. */
  readonly stream: number;
  readonly n: number;
  /** Whether the event can be read without any other. */
  readonly whole: boolean;
  readonly packed: Uint8Array;
}

interface Compressed extends Difference {
  readonly length: number;
}

interface Quantised extends Difference {
  readonly field: string;
  readonly bound: number;
  readonly wide: boolean;
  /** Numbers in the field. */
  readonly length: number;
  /** The numbers that travel as they are: their places and themselves. */
  readonly exact: Uint32Array;
  readonly values: Float64Array;
  /** The event without the field's numbers. */
  readonly rest: Uint8Array;
}

/** Streams that are kept; beyond, the one that was silent longest is forgotten, till it brings a whole event. */
const MOST_STREAMS = 64;
/** Larger than any event may be. */
const MOST_BYTES = 64 << 20;

/** State of each stream. */
class Streams {
  readonly #streams = new Map<number, { n: number; bytes: Uint8Array }>();

  /** @returns undefined where an event is missing before this one */
  next({ stream, n, whole, packed }: Difference, length: number): Uint8Array | undefined {
    if (length > MOST_BYTES) throw new JechoError("EVENT_INVALID", `${length} bytes in one event`);
    const known = this.#streams.get(stream);
    if (!whole && (known === undefined || known.n + 1 !== n)) return undefined;
    const bytes = undiffer(unpackZeros(packed, length), whole || known === undefined ? NOTHING : known.bytes);
    keepNewest(this.#streams, stream, { n, bytes }, MOST_STREAMS);
    return bytes;
  }
}

const NOTHING = new Uint8Array(0);

/** Rebuilds events bit by bit. Leaves out those whose predecessor it has not seen. */
export class CompressDemodulator implements Demodulator<Compressed> {
  readonly #streams = new Streams();

  push(event: Compressed, emit: (event: unknown) => void, source: EventSource): void {
    const bytes = this.#streams.next(event, event.length);
    if (bytes !== undefined) emit(source.decode(event.token, bytes));
  }
}

/** Rebuilds a field's numbers within the bound. Leaves out events whose predecessor it has not seen. */
export class QuantiseDemodulator implements Demodulator<Quantised> {
  readonly #streams = new Streams();

  push(event: Quantised, emit: (event: unknown) => void, source: EventSource): void {
    const { token, field, bound, wide, length, exact, values, rest } = event;
    const bytes = this.#streams.next(event, 4 * length);
    if (bytes === undefined) return;
    const steps = new Uint32Array(bytes.buffer);
    const numbers = wide ? new Float64Array(length) : new Float32Array(length);
    for (let i = 0; i < length; i++) {
      const step = steps[i] as number;
      numbers[i] = ((step >>> 1) ^ -(step & 1)) * 2 * bound;
    }
    for (let i = 0; i < exact.length; i++) {
      const place = exact[i] as number;
      if (place < length) numbers[place] = values[i] as number;
    }
    emit({ ...(unpack(source.decode(token, rest)) as object), [field]: numbers });
  }
}
