import { JechoError } from "@jecho/shared";
import { encodeControl, FROM, type Place, type Position } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Portions } from "../connections/portions.ts";
import type { Channel } from "../delivery/channel.ts";
import { laneNumber, sourceName } from "../delivery/lane.ts";
import type { SourceEnd } from "../delivery/lanes.ts";
import { SOCKET_HIGH_BYTES } from "../delivery/listener.ts";
import type { LoggedRun } from "./event-log.ts";
import type { History } from "./history.ts";

/** Where a consumer begins, and what is known of the past before. */
export interface Beginning {
  /** Sequence number of the first event to be sent. */
  readonly seq: number;
  /** The newest event that a returning consumer had, in the present numbering; undefined where unknown. */
  readonly had: number | undefined;
  /** Single events to be sent first: the newest of each key. */
  readonly newest: Iterator<LoggedRun> | undefined;
  readonly recovered: boolean;
  /** Number of requested events, in the present numbering, that are not kept any more. */
  readonly missing: number;
  /** Whether the place is of an unknown numbering: all kept events are sent, and nothing can be said of earlier ones. */
  readonly unknown: boolean;
  /** Speed relative to the events' original rhythm; 0 for as fast as possible. */
  readonly speed: number;
}

/**
 * Finds the beginning that a consumer asks for. Events that are not kept count as missing.
 *
 * @param isFeed whether it feeds modulators: then it may have events kept for returning consumers
 * @param since earliest time for a returning consumer that may not read history; undefined where it may
 * @throws JechoError `HISTORY_EXCEEDED` for an event beyond the next one
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
  // The place is of an unknown numbering, or beyond its kept part. The producers' counts tell how much lies between.
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

/** Number of events from this one on that are not kept, or come before the first one to be sent. */
function missingFrom(history: History | undefined, nextSeq: number, seq: number, first = seq): number {
  return Math.max(0, nextSeq - seq - (history?.log.countFrom(first) ?? 0));
}

/** Longest delay of a timer. */
const MOST_WAIT_MS = 2 ** 31 - 1;

/** Bytes sent to one consumer at a time, so that others and new connections have their turn in between. */
const TURN_BYTES = 64 << 10;

/** Sends a consumer its past, as fast as its socket takes it or at the requested speed, and then reports that it is level. */
export class Replay {
  readonly #connection: Connection;
  readonly #channel: Channel;
  readonly #history: History;
  readonly #number: number;
  readonly #speed: number;
  readonly #portions: Portions;
  readonly #level: () => void;
  /** Sources whose positions were sent, by the producer numbers that stand for them. */
  readonly #placed = new Map<number, bigint>();
  /** Producer numbers under which events are sent, by source. */
  readonly #present = new Map<bigint, { readonly number: number; readonly process: number }>();
  #seq: number;
  /** Event up to which ends of sources were told; undefined where none are. */
  #told: number | undefined;
  /** Ends of sources that are still to be told, in order, and the channel's number of ends when that was known. */
  #ends: SourceEnd[] = [];
  #endings = -1;
  /**
   * For a new consumer whose past takes longer: counts behind which raw sources begin for it; Infinity once said. What is forgotten meanwhile is missing.
   */
  #begins: Map<string, number> | undefined;
  readonly #isFeed: boolean;
  /** The newest events that are still to be sent. */
  #newest: Iterator<LoggedRun> | undefined;
  readonly #isOfKeys: boolean;
  #began: { readonly at: number; readonly clock: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the replay waits for its turn. */
  #isDue = false;
  #ended = false;

  /**
   * @param number channel number of the runs, so that no other consumer of that process takes them for live ones
   * @param isFeed whether it is for modulators
   * @param level called when all kept events have been sent
   */
  constructor(
    connection: Connection,
    channel: Channel,
    history: History,
    number: number,
    isFeed: boolean,
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
    this.#isFeed = isFeed;
    this.#told = isFeed ? undefined : beginning.had;
    this.#newest = beginning.newest;
    this.#isOfKeys = history.log.retention.latest;
    this.#portions = portions;
    this.#level = level;
  }

  start(): void {
    this.#connection.replaying(this, true);
    const isNew = !this.#isFeed && this.#told === undefined && this.#newest === undefined;
    this.pump();
    if (isNew && !this.#ended) this.#watch();
  }

  /** Notes where each source's events begin that are still to be sent. */
  #watch(): void {
    const begins = new Map<string, number>();
    for (const [lane, source] of this.#placed)
      begins.set(sourceName({ source, urgent: lane % 2 === 1 }), Number.POSITIVE_INFINITY);
    for (const { frame, source, origin } of this.#history.log.from(this.#seq)) {
      const name = sourceName({ source, urgent: frame.isUrgent });
      if (origin === 0n && !begins.has(name)) begins.set(name, frame.raised - 1);
    }
    for (const { source, urgent, raised } of this.#channel.lanes.counting()) {
      const name = sourceName({ source, urgent });
      if (!begins.has(name)) begins.set(name, raised);
    }
    this.#begins = begins;
    this.#told = this.#seq - 1;
  }

  /** Count behind which a raw source begins for the consumer; Infinity where that was said, or is of no interest. */
  #beginningOf(source: bigint, urgent: boolean): number {
    if (this.#begins === undefined) return Number.POSITIVE_INFINITY;
    const name = sourceName({ source, urgent });
    const begins = this.#begins.get(name) ?? this.#channel.lanes.beganAt(source, urgent);
    this.#begins.set(name, Number.POSITIVE_INFINITY);
    return begins;
  }

  /** Says where a raw source begins of which nothing was sent, and which is further. */
  #sayBeginning(position: Position): void {
    if (position.origin !== 0n) return;
    const begins = this.#beginningOf(position.source, position.urgent);
    if (begins >= position.raised) return;
    const of = { channel: this.#number, producer: 0, raised: BigInt(begins), agoMs: 0 };
    const beginning = { ...position, ...of };
    this.#connection.sendBytes(encodeControl(beginning));
  }

  /** Sends the events that are due, as far as there is room. */
  pump(): void {
    if (this.#isDue || !this.#sendSome()) return;
    this.#isDue = true;
    this.#portions.later(this.#connection, () => {
      this.#isDue = this.#sendSome();
      return this.#isDue;
    });
  }

  /** @returns whether more can be sent, when others have had their turn */
  #sendSome(): boolean {
    for (let bytes = 0; !this.#ended; ) {
      if (this.#connection.bufferedBytes > SOCKET_HIGH_BYTES) return false;
      if (bytes > TURN_BYTES) return true;
      const run = this.#next();
      if (run === undefined) {
        this.#finish();
        return false;
      }
      const waitMs = this.#waitMs(run.at);
      if (waitMs > 0) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.pump(), Math.min(waitMs, MOST_WAIT_MS));
        return false;
      }
      if (this.#told !== undefined) this.#tellEnds(this.#told, run.frame.seq);
      this.#send(run);
      bytes += run.frame.end - run.frame.start;
      if (this.#newest === undefined) this.#seq = run.frame.seq + run.frame.count;
    }
    return false;
  }

  /** The next run to be sent: first the newest events, where these were requested. */
  #next(): LoggedRun | undefined {
    const newest = this.#newest?.next();
    if (newest?.done === false) return newest.value;
    // The newest of keys included events that came meanwhile.
    if (newest !== undefined && this.#isOfKeys) this.#seq = this.#channel.nextSeq;
    this.#newest = undefined;
    return this.#seq >= this.#channel.nextSeq ? undefined : this.#history.log.find(this.#seq);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#connection.replaying(this, false);
  }

  #finish(): void {
    if (this.#begins !== undefined && this.#told !== undefined) {
      this.#tellEnds(this.#told, Number.POSITIVE_INFINITY);
      // The live positions come next, and tell the rest.
      for (const position of this.#channel.positions()) this.#sayBeginning(position);
    }
    this.end();
    this.#level();
  }

  #waitMs(at: number): number {
    if (this.#speed === 0) return 0;
    const clock = performance.now();
    this.#began ??= { at, clock };
    return (at - this.#began.at) / this.#speed - (clock - this.#began.clock);
  }

  /**
   * Tells the sources' ends that come before this event: if the connection breaks behind it, the consumer's next place says that they were told.
   *
   * @param told event up to which they were
   */
  #tellEnds(told: number, seq: number): void {
    const { endings } = this.#channel.lanes;
    if (endings !== this.#endings) this.#ends = this.#channel.endsBehind(told, this.#number);
    this.#endings = endings;
    const due = this.#ends.findIndex(end => end.seq >= seq);
    for (const { position } of this.#ends.splice(0, due < 0 ? this.#ends.length : due)) {
      this.#sayBeginning(position);
      this.#connection.sendBytes(encodeControl(position));
    }
    this.#told = seq - 1;
  }

  #send({ frame, source, origin, by }: LoggedRun): void {
    const { raised, isUrgent, after } = frame;
    const { number: producer, process } = this.#presentOf(frame.producer, origin === 0n ? source : origin);
    const lane = laneNumber(producer, isUrgent);
    if (source !== 0n && this.#placed.get(lane) !== source) {
      this.#placed.set(lane, source);
      const begins = origin === 0n ? this.#beginningOf(source, isUrgent) : Number.POSITIVE_INFINITY;
      this.#connection.sendBytes(
        encodeControl({
          kind: "Position",
          channel: this.#number,
          producer,
          urgent: isUrgent,
          source,
          raised: BigInt(Math.min(raised - 1, begins)),
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
