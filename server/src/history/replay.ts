import { JechoError } from "@jecho/shared";
import { encodeControl, FROM, type Place } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import { SOCKET_HIGH_BYTES } from "../delivery/listener.ts";
import type { LoggedRun } from "./event-log.ts";
import type { History } from "./history.ts";

/** Where a consumer begins, and what that says about the past. */
export interface Beginning {
  /** Sequence number of the first event that is sent. */
  readonly seq: number;
  /** Single events to be sent before the channel's own: the newest of each key. */
  readonly newest: readonly LoggedRun[];
  readonly recovered: boolean;
  /** Events of the present numbering that were asked for and are not kept any more. */
  readonly missing: number;
  /** How many times as fast as they came in events are sent; 0 as fast as possible. */
  readonly speed: number;
}

/**
 * Finds the beginning that a consumer asks for. What is not kept is told as missing.
 *
 * @throws JechoError `HISTORY_EXCEEDED` where an event is asked for that is not the next and has not come
 */
export function beginningOf(channel: Channel, place: Place | undefined): Beginning {
  const live = { seq: channel.nextSeq, newest: [], recovered: false, missing: 0, speed: 0 };
  const { history, nextSeq } = channel;
  if (place === undefined || place.from === FROM.now) return live;
  history?.log.trim(Date.now());
  if (place.from === FROM.last) return { ...live, newest: history?.log.newest() ?? [] };
  const speed = Number.isFinite(place.speed) && place.speed > 0 ? place.speed : 0;
  if (place.from === FROM.time) {
    const seq = history?.log.seqSince(place.at) ?? nextSeq;
    const missing = missingFrom(channel, seq);
    const recovered = missing === 0 && (history?.log.reaches(place.at) ?? nextSeq === 1);
    return { ...live, seq, recovered, missing, speed };
  }
  const isSame = place.epoch === channel.epoch;
  const wanted =
    place.from === FROM.seq && place.epoch === 0
      ? Number(place.seq)
      : (history?.behind(place.epoch, Number(place.seq)) ?? (isSame ? Number(place.seq) + 1 : undefined));
  // Of a numbering that is not known here nothing can be said but that; each producer says where it is.
  if (wanted === undefined) return live;
  if (place.from === FROM.seq && wanted > nextSeq) {
    throw new JechoError(
      "HISTORY_EXCEEDED",
      `event ${wanted} was asked for, and ${nextSeq - 1} is the newest of the channel`,
    );
  }
  const first = history?.log.firstSeq ?? nextSeq;
  const seq = Math.min(Math.max(wanted, first), nextSeq);
  const missing = missingFrom(channel, wanted);
  return { ...live, seq, recovered: missing === 0, missing, speed };
}

/** How many events from this one on are not kept. */
function missingFrom({ history, nextSeq }: Channel, seq: number): number {
  return Math.max(0, nextSeq - seq - (history?.log.countFrom(seq) ?? 0));
}

/** The longest that a timer takes. */
const MOST_WAIT_MS = 2 ** 31 - 1;

/** Bytes that one consumer is sent at a time: others have their turn in between, and whoever is to be greeted. */
const TURN_BYTES = 64 << 10;

/** Sends a consumer its past, as fast as its socket takes it or as was asked for, and then says that it is level. */
export class Replay {
  readonly #connection: Connection;
  readonly #channel: Channel;
  readonly #history: History;
  readonly #number: number;
  readonly #speed: number;
  readonly #level: () => void;
  /** Which source each producer's number stands for in what has been sent. */
  readonly #placed = new Map<number, bigint>();
  #seq: number;
  #began: { readonly at: number; readonly clock: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;
  #ended = false;

  /**
   * @param number the one that the runs are sent under, so that nobody else in that process takes them for live ones
   * @param level called when everything that was kept has been sent
   */
  constructor(
    connection: Connection,
    channel: Channel,
    history: History,
    number: number,
    beginning: Beginning,
    level: () => void,
  ) {
    this.#connection = connection;
    this.#channel = channel;
    this.#history = history;
    this.#number = number;
    this.#speed = beginning.speed;
    this.#seq = beginning.seq;
    this.#level = level;
  }

  start(newest: readonly LoggedRun[]): void {
    this.#connection.replaying(this, true);
    for (const run of newest) this.#send(run);
    this.pump();
  }

  /** Sends what is due and finds room. */
  pump(): void {
    clearImmediate(this.#next);
    for (let bytes = 0; !this.#ended; ) {
      if (this.#connection.bufferedBytes > SOCKET_HIGH_BYTES) return;
      if (bytes > TURN_BYTES) {
        this.#next = setImmediate(() => this.pump());
        return;
      }
      const run = this.#seq >= this.#channel.nextSeq ? undefined : this.#history.log.find(this.#seq);
      if (run === undefined) return this.#finish();
      const waitMs = this.#waitMs(run.at);
      if (waitMs > 0) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.pump(), Math.min(waitMs, MOST_WAIT_MS));
        return;
      }
      this.#send(run);
      bytes += run.frame.end - run.frame.start;
      this.#seq = run.frame.seq + run.frame.count;
    }
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#next);
    this.#connection.replaying(this, false);
  }

  #finish(): void {
    this.end();
    this.#level();
  }

  #waitMs(at: number): number {
    if (this.#speed === 0) return 0;
    const clock = performance.now();
    this.#began ??= { at, clock };
    return (at - this.#began.at) / this.#speed - (clock - this.#began.clock);
  }

  #send({ frame, source, origin }: LoggedRun): void {
    const { producer, raised, isUrgent, after } = frame;
    const lane = 2 * producer + (isUrgent ? 1 : 0);
    if (source !== 0n && this.#placed.get(lane) !== source) {
      this.#placed.set(lane, source);
      this.#connection.sendBytes(
        encodeControl({
          kind: "Position",
          channel: this.#number,
          producer,
          urgent: isUrgent,
          source,
          raised: BigInt(raised - 1),
          origin,
          after: BigInt(after),
          through: BigInt(after),
          process: this.#channel.owner.processOf(producer, origin === 0n ? source : origin),
        }),
      );
    }
    const copy = frame.copy();
    copy.readdress(this.#number, producer);
    copy.forgetSync();
    this.#connection.sendBytes(copy.raw());
  }
}
