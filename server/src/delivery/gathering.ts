import { type EventsFrame, type Few, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Listener } from "./listener.ts";

/** Bytes sent to an audience between two checks for members that do not keep up; and for small audiences, bytes sent to all together. */
const LOOK_EVERY_BYTES = 64 * 1024;
const LOOK_EVERY_BYTES_OF_ALL = 4 << 20;

/**
 * The connections that get a channel's runs by a topic: the channel's, or a sole member's own, as a topic takes memory, and time when its connection
 * goes. Audiences are compared without looking at their members: each connection has a random mark of 60 bits, and an audience has the exclusive or of
 * its members' marks.
 */
export class Audience {
  /** Number of the channel. */
  readonly #number: number;
  /** The topic of the present members. */
  #topic = "";
  #size = 0;
  #low = 0;
  #high = 0;
  /** The only member, as long as there has never been a second one. */
  #only: Connection | undefined;
  readonly #listeners: Few<Connection, Listener>;
  #sinceLook = 0;
  #lookedAt = 0;

  /** @param listeners number of the channel's listeners, including those that get its runs otherwise */
  constructor(number: number, listeners: Few<Connection, Listener>) {
    this.#number = number;
    this.#listeners = listeners;
  }

  get size(): number {
    return this.#size;
  }

  enter(connection: Connection): void {
    this.#mark(connection);
    if (this.#size++ === 0) {
      this.#only = connection;
      this.#topic = connection.ownTopic;
      return;
    }
    if (this.#only !== undefined) {
      this.#topic = `channel ${this.#number}`;
      this.#only.subscribe(this.#topic);
      this.#only = undefined;
    }
    connection.subscribe(this.#topic);
  }

  leave(connection: Connection): void {
    this.#size--;
    this.#mark(connection);
    if (this.#only === undefined) connection.unsubscribe(this.#topic);
    this.#only = undefined;
  }

  /**
   * Sends to all members except the sender.
   *
   * @param isAwaited whether somebody waits for it: then a sole listener gets it at once. Published bytes are sent together, at the end of
   * the loop's turn.
   */
  send(bytes: Uint8Array, from: Connection, isAwaited: boolean): void {
    if (!isAwaited || this.#only === undefined) from.publish(this.#topic, bytes);
    else if (this.#only !== from) this.#only.sendBytes(bytes);
  }

  /**
   * Checks from time to time whether a listener has stopped keeping up.
   *
   * @param bytes sent to it just now
   * @param allBytes sent to all audiences so far
   * @returns true where there is such a listener
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

  /** Whether the other audience has the same members. */
  equals(other: Audience): boolean {
    return this.#low === other.#low && this.#high === other.#high && this.#size === other.#size;
  }

  #mark({ markLow, markHigh }: Connection): void {
    this.#low ^= markLow;
    this.#high ^= markHigh;
  }
}

/** Most audiences for which one message is gathered at a time; beyond, the first ones get their parts earlier. */
const MOST_PARCELS = 64;

const NOTHING = new Uint8Array(0);

/** One audience's part of a message, in order: stretches of that message, and the gateway's own frames. */
class Parcel {
  readonly audience: Audience;
  readonly #parts: Uint8Array[] = [];
  /** The stretch that may still grow: [start, end) of the present message. */
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

  /** Sends the bytes themselves where they are adjacent, and a copy where they are not. @returns their number */
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
 * Gathers the parts of the present message by audience: runs of many channels with the same listeners are sent as one message.
 * Gathered parts are sent before anything that could overtake them, and before any subscription changes.
 */
export class Gathering {
  #parcels: Parcel[] = [];
  #from: Connection | undefined;
  #message: Uint8Array = NOTHING;
  /** Bytes that were sent so far. */
  #bytes = 0;
  /**
   * Number of times that a connection was found behind. Each channel compares it, and then looks for the connection among its
   * listeners: messages are few, and runs many.
   */
  laggards = 0;

  /** A run of the present message. Each audience gets its runs in order. */
  add(audience: Audience, frame: EventsFrame, from: Connection): void {
    this.#from = from;
    this.#message = frame.bytes;
    this.#parcelFor(audience).addRun(frame);
  }

  /** A control message caused by the present message, for all of an audience except the sender. */
  tell(audience: Audience, frame: Uint8Array, from: Connection): void {
    this.#from = from;
    this.#parcelFor(audience).add(frame, this.#message);
  }

  /** Sends the gathered parts. */
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
    // A new array is cheaper than emptying the old one.
    this.#parcels = [];
  }

  #parcelFor(audience: Audience): Parcel {
    // Consecutive runs mostly have the same audience.
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
