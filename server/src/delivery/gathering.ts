import { type EventsFrame, type Few, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Listener } from "./listener.ts";

/** Bytes that an audience is sent between two looks at who does not keep up, and all audiences together, one of many small ones. */
const LOOK_EVERY_BYTES = 64 * 1024;
const LOOK_EVERY_BYTES_OF_ALL = 4 << 20;

/**
 * The connections that get a channel's runs by its topic. Two audiences are compared without their members: each connection has a
 * random mark of 60 bits, and an audience the exclusive or of its members' marks.
 */
export class Audience {
  readonly #topic: string;
  #size = 0;
  #low = 0;
  #high = 0;
  /** The only member, as long as there has not been another one beside it. */
  #only: Connection | undefined;
  readonly #listeners: Few<Connection, Listener>;
  #sinceLook = 0;
  #lookedAt = 0;

  /** @param listeners of the channel, those included that get its runs by themselves */
  constructor(topic: string, listeners: Few<Connection, Listener>) {
    this.#topic = topic;
    this.#listeners = listeners;
  }

  get size(): number {
    return this.#size;
  }

  enter(connection: Connection): void {
    this.#only = this.#size++ === 0 ? connection : undefined;
    this.#mark(connection);
    connection.subscribe(this.#topic);
  }

  leave(connection: Connection): void {
    this.#size--;
    this.#only = undefined;
    this.#mark(connection);
    connection.unsubscribe(this.#topic);
  }

  /**
   * Sends this to all members but who it comes from.
   *
   * @param isAwaited somebody waits for it: one who listens alone gets it at once. What is published goes out when the loop has
   * come round, and then all of it together.
   */
  send(bytes: Uint8Array, from: Connection, isAwaited: boolean): void {
    if (!isAwaited || this.#only === undefined) from.publish(this.#topic, bytes);
    else if (this.#only !== from) this.#only.sendBytes(bytes);
  }

  /**
   * Now and then looks whether a listener does not keep up that has done so far.
   *
   * @param bytes that it was sent just now
   * @param allBytes that all audiences were sent so far
   * @returns true where there is one
   */
  look(bytes: number, allBytes: number): boolean {
    this.#sinceLook += bytes;
    const isLong = allBytes - this.#lookedAt >= LOOK_EVERY_BYTES_OF_ALL;
    if (!isLong && this.#sinceLook < LOOK_EVERY_BYTES) return false;
    this.#sinceLook = 0;
    this.#lookedAt = allBytes;
    let isBehind = false;
    for (const { connection } of this.#listeners.values()) if (connection.fallsBehind()) isBehind = true;
    return isBehind;
  }

  /** Whether the other has the same members. */
  equals(other: Audience): boolean {
    return this.#low === other.#low && this.#high === other.#high && this.#size === other.#size;
  }

  #mark({ markLow, markHigh }: Connection): void {
    this.#low ^= markLow;
    this.#high ^= markHigh;
  }
}

/** Audiences that one message is gathered for at a time; where it is for more, the first ones get theirs sooner. */
const MOST_PARCELS = 64;

const NOTHING = new Uint8Array(0);

/** The part of one message that is for one audience, in its order: stretches of that message, and frames of our own. */
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
 * Gathers the parts of the present message by audience: runs of many channels that the same connections listen to go on
 * as one message. It sends what it has before anything that could overtake it, and before anybody's subscription
 * changes.
 */
export class Gathering {
  #parcels: Parcel[] = [];
  #from: Connection | undefined;
  #message: Uint8Array = NOTHING;
  /** Bytes that were sent so far. */
  #bytes = 0;
  /**
   * Number of times that a connection was found behind. Each channel then looks which of its listeners that
   * is: parcels are few, and runs many.
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
