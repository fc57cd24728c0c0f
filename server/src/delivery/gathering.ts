import { type EventsFrame, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Audience } from "./audience.ts";

/** Audiences that one message is gathered for at a time; where it is for more, the first ones get theirs sooner. */
const MOST_PARCELS = 64;

const NOTHING = new Uint8Array(0);

/** What one message has for one audience, in its order: stretches of that message, and frames of our own. */
class Parcel {
  readonly audience: Audience;
  readonly #parts: Uint8Array[] = [];
  /** The stretch that may still grow is [start, end) of the message at hand. */
  #start = 0;
  #end = 0;
  #isAwaited = false;

  constructor(audience: Audience) {
    this.audience = audience;
  }

  addRun(run: EventsFrame): void {
    const { bytes, start, end } = run;
    this.#isAwaited ||= run.isSync;
    if (this.#end !== start || this.#end === this.#start) {
      this.#cut(bytes);
      this.#start = start;
    }
    this.#end = end;
  }

  add(frame: Uint8Array, message: Uint8Array): void {
    this.#cut(message);
    this.#parts.push(frame);
  }

  /** Sends those very bytes where they lie in a row, and one copy of them where they do not. @returns how many */
  send(message: Uint8Array, from: Connection): number {
    this.#cut(message);
    const bytes = joinFrames(this.#parts);
    this.audience.send(bytes, from, this.#isAwaited);
    return bytes.byteLength;
  }

  #cut(message: Uint8Array): void {
    if (this.#end > this.#start) this.#parts.push(message.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

/**
 * What the message at hand has for others. Runs of many channels that the same connections listen to go on as one message.
 * Sends what it has before anything that could overtake it, and before anybody's subscription changes.
 */
export class Gathering {
  #parcels: Parcel[] = [];
  #from: Connection | undefined;
  #message: Uint8Array = NOTHING;
  /** Bytes that were sent so far. */
  #bytes = 0;
  /**
   * How often somebody was found who does not keep up. Each channel then looks which of its listeners that is: parcels are few, and
   * runs many.
   */
  laggards = 0;

  /** A run that lies in the message at hand. Each audience gets what is for it in its order. */
  add(audience: Audience, frame: EventsFrame, from: Connection): void {
    this.#from = from;
    this.#message = frame.bytes;
    this.#parcelFor(audience).addRun(frame);
  }

  /** A control message on account of the message at hand, for all of an audience but its sender. */
  tell(audience: Audience, frame: Uint8Array, from: Connection): void {
    this.#from = from;
    this.#parcelFor(audience).add(frame, this.#message);
  }

  /** Sends what was gathered. */
  flush(): void {
    if (this.#parcels.length === 0) return;
    this.#send();
    this.#message = NOTHING;
    this.#from = undefined;
  }

  #send(): void {
    const from = this.#from;
    if (from !== undefined)
      for (const parcel of this.#parcels) {
        const bytes = parcel.send(this.#message, from);
        this.#bytes += bytes;
        if (parcel.audience.look(bytes, this.#bytes)) this.laggards++;
      }
    // Emptying the old one would be a call into the engine.
    this.#parcels = [];
  }

  #parcelFor(audience: Audience): Parcel {
    // What is for the same audience mostly comes in a row.
    for (let i = this.#parcels.length - 1; i >= 0; i--) {
      const parcel = this.#parcels[i] as Parcel;
      if (parcel.audience.equals(audience)) return parcel;
    }
    if (this.#parcels.length === MOST_PARCELS) this.#send();
    const parcel = new Parcel(audience);
    this.#parcels.push(parcel);
    return parcel;
  }
}
