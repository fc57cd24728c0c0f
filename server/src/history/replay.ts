import { JechoError } from "@jecho/shared";
import { encodeControl, FROM, type Place } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Portions } from "../connections/portions.ts";
import type { Channel } from "../delivery/channel.ts";
import { SOCKET_HIGH_BYTES } from "../delivery/listener.ts";
import type { LoggedRun } from "./event-log.ts";
import type { History } from "./history.ts";

/** A consumer's beginning, and what that says about the past. */
export interface Beginning {
  /** Sequence number of the first event that is sent. */
  readonly seq: number;
  /** The newest event that a returning consumer had, in the present numbering; undefined where that is not known. */
  readonly had: number | undefined;
  /** Single events to be sent before the channel's own: the newest of each key. */
  readonly newest: Iterator<LoggedRun> | undefined;
  readonly recovered: boolean;
  /** Events of the present numbering that were asked for and are not kept any more. */
  readonly missing: number;
  /** The place is of a numbering that is not known here: what is kept of this one is sent, and of what was before nothing can be said. */
  readonly unknown: boolean;
  /** Speed relative to the events' original rhythm; 0 for as fast as possible. */
  readonly speed: number;
}

/**
 * Finds the beginning that a consumer asks for. What is not kept is told as missing.
 *
 * @param isFeed whether it feeds modulators: then it may have what is kept for those who come back
 * @param since time before which a consumer that comes back is sent nothing, for it may not look back; undefined where it may
 * @throws JechoError `HISTORY_EXCEEDED` where an event is asked for that is not the next and has not come
 */
export function beginningOf(
  channel: Channel,
  place: Place | undefined,
  isFeed: boolean,
  since?: number,
): Beginning {
  const live = {
    seq: channel.nextSeq,
    had: undefined,
    newest: undefined,
    recovered: false,
    missing: 0,
    unknown: false,
    speed: 0,
  };
  const { nextSeq } = channel;
  if (place === undefined || place.from === FROM.now) return live;
  const history = isFeed || place.from === FROM.resume ? channel.history : channel.past;
  history?.log.trim(Date.now());
  if (place.from === FROM.last)
    return { ...live, newest: history?.log.hasNewest ? history.log.newest() : undefined };
  const speed = Number.isFinite(place.speed) && place.speed > 0 ? place.speed : 0;
  if (place.from === FROM.time) {
    const seq = history?.log.seqSince(place.at) ?? nextSeq;
    const missing = missingFrom(history, nextSeq, seq);
    const recovered = missing === 0 && (history?.log.reaches(place.at) ?? nextSeq === 1);
    return { ...live, seq, recovered, missing, speed };
  }
  const isSame = place.epoch === channel.epoch;
  const numbered = Number(place.seq);
  const known =
    place.from === FROM.seq && place.epoch === 0
      ? { seq: numbered, isKept: true }
      : (history?.behind(place.epoch, numbered) ??
        (isSame ? { seq: numbered + 1, isKept: true } : undefined));
  // The place is of no numbering that is known here, or behind what was kept of it. How much lies between, each producer says by its own count.
  const unknown = known?.isKept !== true;
  const wanted = known?.seq ?? 1;
  if (place.from === FROM.seq && wanted > nextSeq) {
    throw new JechoError(
      "HISTORY_EXCEEDED",
      `event ${wanted} was asked for, and ${nextSeq - 1} is the newest of the channel`,
    );
  }
  const first = (since === undefined ? history?.log.firstSeq : history?.log.seqSince(since)) ?? nextSeq;
  const seq = Math.min(Math.max(wanted, first), nextSeq);
  const missing = unknown ? 0 : missingFrom(history, nextSeq, wanted, seq);
  const had = place.from === FROM.resume ? wanted - 1 : undefined;
  return { ...live, seq, had, recovered: !unknown && missing === 0, missing, unknown, speed };
}

/** Number of events from this one on that are not kept, or lie before the first that is sent. */
function missingFrom(history: History | undefined, nextSeq: number, seq: number, first = seq): number {
  return Math.max(0, nextSeq - seq - (history?.log.countFrom(first) ?? 0));
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
  readonly #portions: Portions;
  readonly #level: () => void;
  /** Sources that have been sent, by the producers' numbers that stand for them. */
  readonly #placed = new Map<number, bigint>();
  /** The producers that events are sent under, by their sources. */
  readonly #present = new Map<bigint, { readonly number: number; readonly process: number }>();
  #seq: number;
  /** The newest events, until all of them have been sent. */
  #newest: Iterator<LoggedRun> | undefined;
  readonly #isOfKeys: boolean;
  #began: { readonly at: number; readonly clock: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the replay waits for its turn. */
  #isDue = false;
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
    portions: Portions,
    level: () => void,
  ) {
    this.#connection = connection;
    this.#channel = channel;
    this.#history = history;
    this.#number = number;
    this.#speed = beginning.speed;
    this.#seq = beginning.seq;
    this.#newest = beginning.newest;
    this.#isOfKeys = history.log.retention.latest;
    this.#portions = portions;
    this.#level = level;
  }

  start(): void {
    this.#connection.replaying(this, true);
    this.pump();
  }

  /** Sends what is due and finds room. */
  pump(): void {
    if (this.#isDue) return;
    for (let bytes = 0; !this.#ended; ) {
      if (this.#connection.bufferedBytes > SOCKET_HIGH_BYTES) return;
      if (bytes > TURN_BYTES) {
        this.#goOnLater();
        return;
      }
      const run = this.#next();
      if (run === undefined) return this.#finish();
      const waitMs = this.#waitMs(run.at);
      if (waitMs > 0) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.pump(), Math.min(waitMs, MOST_WAIT_MS));
        return;
      }
      this.#send(run);
      bytes += run.frame.end - run.frame.start;
      if (this.#newest === undefined) this.#seq = run.frame.seq + run.frame.count;
    }
  }

  /** The run that is to be sent next: the newest events first, where these were asked for. */
  #next(): LoggedRun | undefined {
    const newest = this.#newest?.next();
    if (newest?.done === false) return newest.value;
    // Of keys it has had what came meanwhile, too.
    if (newest !== undefined && this.#isOfKeys) this.#seq = this.#channel.nextSeq;
    this.#newest = undefined;
    return this.#seq >= this.#channel.nextSeq ? undefined : this.#history.log.find(this.#seq);
  }

  #goOnLater(): void {
    this.#isDue = true;
    this.#portions.later(this.#connection, () => {
      this.#isDue = false;
      this.pump();
    });
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
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

  #send({ frame, source, origin, by }: LoggedRun): void {
    const { raised, isUrgent, after } = frame;
    const { number: producer, process } = this.#presentOf(frame.producer, origin === 0n ? source : origin);
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
          process,
          by,
        }),
      );
    }
    const copy = frame.copy();
    copy.readdress(this.#number, producer);
    copy.forgetSync();
    this.#connection.sendBytes(copy.raw());
  }

  /** Numbers mean nothing at another connection or gateway: what was raised under one may be another producer's by now. */
  #presentOf(producer: number, source: bigint): { readonly number: number; readonly process: number } {
    if (source === 0n) return { number: producer, process: this.#channel.owner.processOf(producer) };
    let present = this.#present.get(source);
    if (present === undefined) {
      present = this.#channel.owner.presentOf(producer, source);
      this.#present.set(source, present);
    }
    return present;
  }
}
