import type { EventsFrame, HeldPlace, Position } from "@jecho/shared/internal";
import type { ConsumerEntry } from "./entry.ts";
import type { Lane } from "./lane.ts";
import type { PortListener } from "./port.ts";
import type { SynchronousEvents } from "./synchronous.ts";
import type { Outcome } from "./tally.ts";
import { type Source, Sources } from "./tracking.ts";

/** Bytes of this process' own events that wait for a consumer while it is being sent the past. */
const WAITING_BYTES = 16 << 20;

/** Takes what is for modulators that run here in a producer's stead. */
export interface FeedListener {
  take(entry: ConsumerEntry, frame: EventsFrame, first: number): void;
  missing(entry: ConsumerEntry, events: number): void;
}

/** Hands runs to the consumers of this process: each event once and in its producer's order, and what is missing is told. */
export class Reception {
  readonly #listener: PortListener;
  readonly #feeds: FeedListener;
  readonly #synchronous: SynchronousEvents;
  readonly #sources = new Sources();
  /** Consumers by the number under which their events come. */
  readonly #consumers = new Map<number, Set<ConsumerEntry>>();
  /** Consumers that are being sent the past, by their channel's number. */
  readonly #replaying = new Map<number, Set<ConsumerEntry>>();
  /** Whose producer it is that raises events elsewhere, by its number. */
  readonly #processes = new Map<number, number>();

  constructor(listener: PortListener, synchronous: SynchronousEvents, feeds: FeedListener) {
    this.#listener = listener;
    this.#feeds = feeds;
    this.#synchronous = synchronous;
  }

  /** Consumers here of a channel or derived channel. */
  consumersOf(channel: number): number {
    let consumers = this.#replaying.get(channel)?.size ?? 0;
    for (const { feed } of this.#consumers.get(channel) ?? []) if (feed === undefined) consumers++;
    return consumers;
  }

  enter(entry: ConsumerEntry): void {
    if (entry.replay === 0) {
      add(this.#consumers, entry.channelNumber, entry);
      return;
    }
    add(this.#consumers, entry.replay, entry);
    add(this.#replaying, entry.channelNumber, entry);
  }

  leave(entry: ConsumerEntry): void {
    remove(this.#consumers, entry.channelNumber, entry);
    if (entry.replay === 0) return;
    remove(this.#consumers, entry.replay, entry);
    remove(this.#replaying, entry.channelNumber, entry);
    this.#sources.forgetChannel(entry.replay);
  }

  /** The past has come to its end: what comes now is live. */
  replayed(entry: ConsumerEntry): void {
    this.leave(entry);
    entry.replay = 0;
    this.enter(entry);
    const { waiting } = entry;
    entry.waiting = [];
    for (const { frame, source } of waiting) this.#hand([entry], frame, source);
  }

  /** A producer elsewhere goes on behind this event. */
  position({ channel, producer, urgent, source: id, raised, process }: Position, isOurs: boolean): void {
    const source = this.#sources.named(id, urgent);
    this.#processes.set(producer, process);
    this.#sources.place(channel, producer, source);
    // Our own events do not come over the wire, save those of the past.
    if (isOurs && !this.#isReplay(channel)) return;
    for (const entry of this.#consumers.get(channel) ?? []) {
      if (this.#takes(entry, producer)) this.#missing(entry, entry.tracker.place(source, Number(raised)));
    }
  }

  /** The gateway dropped events that we were too slow for. */
  dropped(channel: number, events: number): void {
    for (const entry of this.#consumers.get(channel) ?? []) entry.dropped += events;
  }

  /** A run from elsewhere. @param handled called for each event of a synchronous run */
  arrived(frame: EventsFrame, handled: (outcome: Outcome, i: number) => void): void {
    const { channel, seq, epoch, count } = frame;
    const consumers = this.#consumers.get(channel);
    if (frame.isSync) {
      const takers = [...(consumers ?? [])].filter(entry => this.#takes(entry, frame.producer));
      this.#synchronous.deliver(frame, takers.length, handled);
    }
    if (consumers === undefined) return;
    this.#hand(consumers, frame, this.#sources.of(frame));
    for (const { place } of consumers) {
      place.epoch = epoch;
      place.seq = seq + count - 1;
    }
  }

  /** A run that was raised or derived here. @param handled called for each event of a synchronous run */
  raised(frame: EventsFrame, lane: Lane, handled?: (outcome: Outcome, i: number) => void): void {
    const all = this.#consumers.get(frame.channel);
    // What feeds modulators is fed with it otherwise.
    const consumers = all && [...all].filter(({ feed }) => feed === undefined);
    if (handled !== undefined) this.#synchronous.deliver(frame, consumers?.length ?? 0, handled);
    const replaying = this.#replaying.get(frame.channel);
    if (consumers === undefined && replaying === undefined) return;
    const source = this.#sources.named(lane.source, lane.urgent);
    for (const entry of replaying ?? []) this.#wait(entry, frame, source);
    if (consumers !== undefined) this.#hand(consumers, frame, source);
  }

  /** A run that was made here while this consumer was away. */
  raisedBefore(entry: ConsumerEntry, frame: EventsFrame, lane: Lane): void {
    const source = this.#sources.named(lane.source, lane.urgent);
    if (entry.replay !== 0) this.#wait(entry, frame, source);
    else this.#hand([entry], frame, source);
  }

  #wait(entry: ConsumerEntry, frame: EventsFrame, source: Source): void {
    entry.waiting.push({ frame, source });
    let bytes = 0;
    for (const waiting of entry.waiting) bytes += waiting.frame.end - waiting.frame.start;
    if (bytes > WAITING_BYTES) entry.waiting.shift();
  }

  /** What feeds modulators takes the events of one process alone. */
  #takes({ feed }: ConsumerEntry, producer: number): boolean {
    return feed === undefined || feed.process === this.#processes.get(producer);
  }

  /** Where a consumer is, for another device to go on there. */
  placeOf({ number, place, tracker, label }: ConsumerEntry): HeldPlace {
    const { epoch, seq } = place;
    return { consumer: number, epoch, seq: BigInt(seq), sources: tracker.places(), label };
  }

  /** What another device has had. */
  inherit(entry: ConsumerEntry, sources: HeldPlace["sources"]): void {
    for (const { source, urgent, raised } of sources)
      entry.tracker.place(this.#sources.named(source, urgent), Number(raised));
  }

  /** The connection broke. */
  interrupted(): void {
    this.#processes.clear();
    this.#consumers.clear();
    this.#replaying.clear();
    this.#sources.clear();
  }

  #hand(consumers: Iterable<ConsumerEntry>, frame: EventsFrame, source: Source | undefined): void {
    for (const entry of consumers) {
      if (!this.#takes(entry, frame.producer)) continue;
      let had = Math.max(0, entry.fromSeq - (frame.seq || entry.fromSeq));
      if (source !== undefined) {
        const counted = entry.tracker.take(source, frame);
        if (counted.missing > 0) this.#missing(entry, counted.missing);
        had = Math.max(had, counted.had);
      }
      if (had === frame.count) continue;
      if (entry.feed !== undefined) this.#feeds.take(entry, frame, had);
      else this.#listener.receive(entry.endpoint, frame, had);
    }
  }

  #missing(entry: ConsumerEntry, events: number): void {
    if (events === 0) return;
    if (entry.feed !== undefined) return this.#feeds.missing(entry, events);
    // What the gateway dropped for us is said to be that; the rest was lost on the way.
    const dropped = Math.min(events, entry.dropped);
    entry.dropped -= dropped;
    this.#listener.notify({ is: "missing", endpoint: entry.endpoint, events, dropped });
  }

  #isReplay(channel: number): boolean {
    for (const entry of this.#consumers.get(channel) ?? []) return entry.replay === channel;
    return false;
  }
}

function add<E>(sets: Map<number, Set<E>>, channel: number, entry: E): void {
  const set = sets.get(channel);
  if (set === undefined) sets.set(channel, new Set([entry]));
  else set.add(entry);
}

function remove<E>(sets: Map<number, Set<E>>, channel: number, entry: E): void {
  const set = sets.get(channel);
  set?.delete(entry);
  if (set?.size === 0) sets.delete(channel);
}
