import type { EventsFrame } from "@jecho/shared/internal";
import type { Audience } from "./audience.ts";
import type { Connection } from "./connection.ts";

/** Audiences that one message is gathered for at a time; where it is for more, the first ones get theirs sooner. */
const MOST_PARCELS = 64;

const NOTHING = new Uint8Array(0);

/** Runs of one message for one audience: stretches of that message, [start, end) each. */
interface Parcel {
  readonly audience: Audience;
  readonly stretches: number[];
}

/**
 * What the message at hand has for others. Runs of many channels that the same connections listen to go on as one message: those
 * very bytes where they lie in a row, and one copy of them where they do not. Sends what it has before anything that
 * could overtake it, and before anybody's subscription changes.
 */
export class Gathering {
  readonly #parcels: Parcel[] = [];
  #from: Connection | undefined;
  #message: Uint8Array = NOTHING;
  /** Bytes that went through so far. */
  bytes = 0;

  /** A run that lies in the message at hand. Each audience gets its runs in their order. */
  add(audience: Audience, frame: EventsFrame, from: Connection): void {
    const { start, end } = frame;
    this.bytes += end - start;
    this.#from = from;
    this.#message = frame.bytes;
    const parcels = this.#parcels;
    // Runs for the same audience mostly follow each other.
    for (let i = parcels.length - 1; i >= 0; i--) {
      const { audience: known, stretches } = parcels[i] as Parcel;
      if (!known.equals(audience)) continue;
      if (stretches.at(-1) === start) stretches[stretches.length - 1] = end;
      else stretches.push(start, end);
      return;
    }
    if (parcels.length === MOST_PARCELS) this.flush();
    parcels.push({ audience, stretches: [start, end] });
  }

  /** Sends what was gathered. */
  flush(): void {
    if (this.#parcels.length === 0) return;
    for (const { audience, stretches } of this.#parcels)
      this.#from?.publish(audience.topic, take(this.#message, stretches));
    this.#parcels.length = 0;
    this.#message = NOTHING;
    this.#from = undefined;
  }
}

function take(message: Uint8Array, stretches: readonly number[]): Uint8Array {
  const [first = 0, firstEnd = 0] = stretches;
  if (stretches.length === 2) return message.subarray(first, firstEnd);
  let size = 0;
  for (let i = 0; i < stretches.length; i += 2) size += (stretches[i + 1] ?? 0) - (stretches[i] ?? 0);
  const taken = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < stretches.length; i += 2) {
    const [start = 0, end = 0] = [stretches[i], stretches[i + 1]];
    taken.set(message.subarray(start, end), at);
    at += end - start;
  }
  return taken;
}
