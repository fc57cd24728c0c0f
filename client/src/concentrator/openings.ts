import { JechoError } from "@jecho/shared";
import {
  type Control,
  type CopyUpdate,
  FROM,
  type Modulator,
  type Place,
  WHEN_FULL,
} from "@jecho/shared/internal";
import type { Deriving } from "../modulation/deriving.ts";
import type { Feeds } from "../modulation/feeds.ts";
import type { Modulation } from "../modulation/modulation.ts";
import { placementOf } from "../placement.ts";
import type { ControlRequest, PortNotice } from "../port.ts";
import type { Demands } from "./demands.ts";
import type { Entries } from "./entries.ts";
import type { ConsumerEntry, EndpointEntry, Reset } from "./entry.ts";
import type { Flow } from "./flow.ts";
import type { Link } from "./link.ts";
import type { Reception } from "./reception.ts";
import type { SynchronousEvents } from "./synchronous.ts";

type Opened<Kind extends Control["kind"]> = Extract<Control, { kind: Kind }>;

const REOPEN_MS = 1000;

/** What is asked of the gateway: an endpoint; for a consumer that is to have another modulator, that. */
interface Asked {
  readonly entry: EndpointEntry;
  readonly reset: Reset | undefined;
}

export interface OpeningOptions {
  /** May this process' producers have modulators? */
  readonly modulates: boolean;
  readonly nextRequest: () => number;
}

interface Parts {
  readonly entries: Entries;
  readonly link: Link;
  readonly modulation: Modulation;
  readonly reception: Reception;
  readonly feeds: Feeds;
  readonly deriving: Deriving;
  readonly demands: Demands;
  readonly flow: Flow;
  readonly synchronous: SynchronousEvents;
}

/** Opens endpoints at the gateway, again at each connection, and takes them off again. */
export class Openings {
  readonly #options: OpeningOptions;
  readonly #entries: Entries;
  readonly #link: Link;
  readonly #modulation: Modulation;
  readonly #reception: Reception;
  readonly #feeds: Feeds;
  readonly #deriving: Deriving;
  readonly #demands: Demands;
  readonly #flow: Flow;
  readonly #synchronous: SynchronousEvents;
  readonly #notify: (notice: PortNotice) => void;
  /** What waits for an answer of the gateway, by request. */
  readonly #pending = new Map<number, Asked>();
  /** When some are asked for again. */
  readonly #retries = new Set<ReturnType<typeof setTimeout>>();

  constructor(options: OpeningOptions, parts: Parts, notify: (notice: PortNotice) => void) {
    this.#options = options;
    this.#entries = parts.entries;
    this.#link = parts.link;
    this.#modulation = parts.modulation;
    this.#reception = parts.reception;
    this.#feeds = parts.feeds;
    this.#deriving = parts.deriving;
    this.#demands = parts.demands;
    this.#flow = parts.flow;
    this.#synchronous = parts.synchronous;
    this.#notify = notify;
  }

  /** A new endpoint. */
  add(entry: EndpointEntry): void {
    this.#entries.add(entry);
    if (this.#link.isLive) this.#open(entry);
  }

  /** A consumer's modulator is to be another one. */
  reset(endpoint: number, reset: number, modulator: Modulator | undefined): void {
    const entry = this.#entries.consumer(endpoint);
    if (entry === undefined) return;
    entry.resets.push({ reset, modulator });
    this.#askNext(entry);
  }

  /**
   * Asks for the newest reset: those before it are answered with it, or, where it is refused, asked for in their turn. So what is
   * in force in the end is what would be if each had waited for the one before it.
   */
  #askNext(entry: ConsumerEntry): void {
    const next = entry.resets.at(-1);
    if (next === undefined || entry.asking !== undefined || entry.number === 0) return;
    entry.asking = next;
    this.#open(entry, next);
  }

  /** There is a connection. */
  live(): void {
    const entries = [...this.#entries];
    // Objects first, so that their masters are known before modulators bring them. Producers next, so that consumers of this process find the types that it writes.
    for (const entry of entries) if (entry.is === "object") this.#open(entry);
    for (const entry of entries) if (entry.is === "producer") this.#open(entry);
    // What feeds modulators is opened again when they are asked for.
    for (const entry of entries) if (entry.is === "consumer" && entry.feed === undefined) this.#open(entry);
  }

  /** The connection broke: nothing that was asked is answered any more. */
  interrupted(): void {
    this.#pending.clear();
    // At the next connection all are asked for.
    for (const retry of this.#retries) clearTimeout(retry);
    this.#retries.clear();
    for (const entry of this.#entries) if (entry.is === "consumer") entry.asking = undefined;
  }

  /**
   * @param reset the modulator that a consumer is to have instead of its own, which goes on until then
   * @param compared the newest derived channel that a consumer's modulator has been compared with
   */
  #open(entry: EndpointEntry, reset?: Reset, compared = 0): void {
    const request = this.#options.nextRequest();
    this.#pending.set(request, { entry, reset });
    switch (entry.is) {
      case "object": {
        const { object, lazy, term, version, state } = entry;
        return this.#link.send({ kind: "OpenObject", request, object, lazy, term, version, state });
      }
      case "producer": {
        const { channel, schema, history, key } = entry;
        const { modulates } = this.#options;
        return this.#link.send({ kind: "OpenProducer", request, channel, schema, modulates, history, key });
      }
      case "consumer": {
        const { channel, schema, queue, label, feed } = entry;
        const { modulator } = reset ?? entry;
        // The name stays with what the old one makes, for those who subscribed to that.
        const as = reset === undefined ? entry.as : "";
        const comesBack = entry.wasOpen && reset === undefined;
        const from = comesBack ? placeBehind(entry) : this.#beginningOf(entry, reset);
        const asked = { request, channel, schema, modulator, from, queue, label, as, feed, compared };
        return this.#link.send({ kind: "OpenConsumer", ...asked });
      }
    }
  }

  /** A time is the application's until it is asked for at a connection, whose gateway has a clock of its own. */
  #beginningOf({ from }: ConsumerEntry, reset: Reset | undefined): Place | undefined {
    // The past that was asked for it has had. The newest of the new pair it has not.
    if (reset !== undefined && from?.from !== FROM.last) return undefined;
    if (from?.from !== FROM.time) return from;
    return { ...from, at: this.#link.gatewayTime(from.at) };
  }

  #answered(request: number): Asked | undefined {
    const pending = this.#pending.get(request);
    this.#pending.delete(request);
    return pending;
  }

  objectOpened({ request, copy }: CopyUpdate): void {
    const entry = this.#answered(request)?.entry;
    if (entry?.is !== "object") return;
    if (!this.#entries.has(entry)) return this.#link.send({ kind: "CloseEndpoint", endpoint: copy });
    entry.number = copy;
    entry.wasOpen = true;
    this.#entries.enter(entry);
  }

  producerOpened({ request, channel, producer }: Opened<"ProducerOpened">): void {
    // A derived channel that it publishes into has another number when it comes again.
    const known = request === 0 ? this.#entries.producerOf(producer) : undefined;
    const entry = known ?? this.#answered(request)?.entry;
    if (entry?.is !== "producer") return;
    if (!this.#entries.has(entry)) return this.#link.send({ kind: "CloseEndpoint", endpoint: producer });
    if (known !== undefined) {
      this.leave(known);
      known.elsewhere = 0;
      known.unheard = 0;
    }
    entry.channelNumber = channel;
    entry.number = producer;
    entry.lanes.address(channel, producer);
    this.#entries.enter(entry);
    this.#modulation.installed.published(channel, entry.channel);
  }

  consumerOpened(opened: Opened<"ConsumerOpened">): void {
    const { entry, reset } = this.#answered(opened.request) ?? {};
    if (entry?.is !== "consumer") return;
    // Closed meanwhile, or open by another request.
    if (!this.#entries.has(entry) || (reset === undefined && entry.number !== 0))
      return this.#link.send({ kind: "CloseEndpoint", endpoint: opened.consumer });
    // From here on no event of the old modulator reaches the consumer, and the first of the new one comes next.
    const { number: old, channelNumber: left, endpoint } = entry;
    const wasOpen = entry.wasOpen === true && reset === undefined;
    const newest = wasOpen && wantsNewest(entry);
    if (reset !== undefined) {
      entry.modulator = reset.modulator;
      entry.as = "";
      entry.opened = reset.reset;
      entry.resets = entry.resets.filter(other => other.reset > reset.reset);
      entry.asking = undefined;
    }
    this.leave(entry);
    this.#place(entry, wasOpen, opened);
    if (newest) entry.fromSeq = 0;
    entry.rests = false;
    if (entry.feed !== undefined) {
      const { recovered, missing } = opened;
      this.#feeds.opened(entry, wasOpen ? { recovered, missing: Number(missing) } : undefined);
      return;
    }
    if (wasOpen) this.#deriving.handKept(entry);
    this.#tellOpened(entry, wasOpen, newest, opened);
    // It may have to leave again at once.
    this.#flow.entered(entry);
    this.#askNext(entry);
    if (old === 0) return;
    // Events of the old modulator that are still being handled are waited for.
    const close = (): void => this.#link.send({ kind: "CloseEndpoint", endpoint: old });
    this.#synchronous.whenDone(endpoint, left, close);
  }

  /** Before the gateway has a modulator installed, its consumer is to compare it with others. */
  compare({ request, newest, modulators }: Opened<"Compare">): void {
    const { entry, reset } = this.#answered(request) ?? {};
    if (entry?.is !== "consumer" || !this.#entries.has(entry)) return;
    const { endpoint, opened } = entry;
    this.#notify({ is: "compare", endpoint, reset: reset?.reset ?? opened, newest, modulators });
  }

  compared({ endpoint, reset, newest, equal, failure }: Extract<ControlRequest, { is: "compared" }>): void {
    const entry = this.#entries.consumer(endpoint);
    if (entry === undefined) return;
    const asking = entry.asking?.reset === reset ? entry.asking : undefined;
    // It was asked for at a connection that broke.
    if (asking === undefined && (reset !== entry.opened || entry.number !== 0)) return;
    const asked = asking ?? entry;
    if (asked.modulator === undefined) return;
    if (failure !== "") return this.#refused(entry, asking, new JechoError("MODULATOR_FAILED", failure));
    if (equal !== undefined) asked.modulator = { ...asked.modulator, ...equal };
    // Without a connection it is asked for at the next one.
    if (this.#link.isLive) this.#open(entry, asking, newest);
  }

  #place(entry: ConsumerEntry, wasOpen: boolean, opened: Opened<"ConsumerOpened">): void {
    // What another modulator makes is counted anew.
    if (!wasOpen && entry.wasOpen) entry.tracker.clear();
    entry.channelNumber = opened.channel;
    entry.number = opened.consumer;
    entry.replay = opened.replay;
    entry.epoch = opened.epoch;
    entry.seq = Number(opened.seq) - 1;
    // A run is sent whole. The newest of each key, which a first opening may ask for, are older than what comes behind them.
    entry.fromSeq = !wasOpen && entry.from?.from === FROM.last ? 0 : Number(opened.seq);
    entry.wasOpen = true;
    if (!wasOpen) entry.waiting = [];
    this.#entries.enter(entry);
    this.#reception.enter(entry);
  }

  /** @param newest does it begin with the newest, though it was open before? */
  #tellOpened(
    { endpoint, from, opened: reset }: ConsumerEntry,
    wasOpen: boolean,
    newest: boolean,
    { channel, replay, recovered, missing, placements: tables, objects: tags }: Opened<"ConsumerOpened">,
  ): void {
    const replays = replay !== 0;
    // A view would go to another thread with all the memory that it is on.
    const objects = tags.length === 0 ? [] : [...tags];
    const placements = tables.map(placementOf);
    const asksForPast = wasOpen || (reset === 0 && from !== undefined && from.from !== FROM.last);
    if (newest || !asksForPast)
      return this.#notify({ is: "opened", endpoint, reset, replays, placements, objects });
    const behind = this.#feeds.recoveryOf(this.#modulation.installed.feedsOf(channel));
    // Nothing is kept of what this process makes for itself.
    const keeps = wasOpen || placements.every(({ at }) => at !== "consumer");
    const resumed = {
      recovered: recovered && behind.recovered && keeps,
      missing: Number(missing) + behind.missing,
    };
    this.#notify({ is: "opened", endpoint, reset, replays, placements, objects, ...resumed });
  }

  /** The gateway refuses what was asked. */
  refused(request: number, error: JechoError): void {
    const pending = this.#answered(request);
    if (pending !== undefined) this.#refused(pending.entry, pending.reset, error);
  }

  /** The gateway ended a consumer that was open. */
  lost(number: number, error: JechoError): void {
    const entry = this.#entries.consumerOf(number);
    if (entry === undefined) return;
    this.leave(entry);
    entry.channelNumber = 0;
    entry.number = 0;
    this.#refused(entry, undefined, error);
  }

  #refused(entry: EndpointEntry, reset: Reset | undefined, error: JechoError): void {
    if (!this.#entries.has(entry)) return;
    if (entry.is === "consumer" && entry.feed !== undefined && error.code !== "SLOW_CONSUMER") {
      this.forget(entry);
      return this.#feeds.refused(entry, error);
    }
    if (entry.is === "consumer" && reset !== undefined) {
      // The old pair goes on.
      entry.resets = entry.resets.filter(other => other !== reset);
      entry.asking = undefined;
      this.#notify({ is: "refused", endpoint: entry.endpoint, reset: reset.reset, error });
      return this.#askNext(entry);
    }
    if (error.retry && entry.wasOpen) {
      // It has been open, and what hinders it passes: it is asked for again, as after a lost connection.
      if (entry.is !== "consumer" || entry.feed === undefined)
        this.#notify({ is: "interrupted", endpoint: entry.endpoint });
      this.#openLater(entry);
      return;
    }
    this.forget(entry);
    this.#notify({ is: "refused", endpoint: entry.endpoint, reset: 0, error });
  }

  /** A consumer leaves its channel until `wake`: to its application that is as if its connection were lost. */
  rest(entry: ConsumerEntry): void {
    // What feeds modulators has no thread of an application's.
    if (entry.number === 0 || entry.feed !== undefined) return;
    this.#link.send({ kind: "CloseEndpoint", endpoint: entry.number });
    this.leave(entry);
    entry.lastChannel = entry.channelNumber;
    entry.channelNumber = 0;
    entry.number = 0;
    entry.replay = 0;
    entry.rests = true;
    this.#notify({ is: "interrupted", endpoint: entry.endpoint });
  }

  /** A consumer that rests comes back behind its place. */
  wake(entry: ConsumerEntry): void {
    if (entry.rests && entry.number === 0 && this.#link.isLive) this.#open(entry);
  }

  #openLater(entry: EndpointEntry): void {
    const retry = setTimeout(() => {
      this.#retries.delete(retry);
      const isWaiting = this.#entries.has(entry) && entry.number === 0;
      if (isWaiting && this.#link.isLive) this.#open(entry);
    }, REOPEN_MS);
    this.#retries.add(retry);
  }

  /** Ends an endpoint. */
  close(entry: EndpointEntry): void {
    this.forget(entry);
    this.leave(entry);
    if (entry.number !== 0) this.#link.send({ kind: "CloseEndpoint", endpoint: entry.number });
  }

  /** There is no such endpoint any more, and nobody waits for it. */
  forget(entry: EndpointEntry): void {
    this.#entries.remove(entry);
    if (entry.is === "consumer") this.#synchronous.left(entry.endpoint);
  }

  /** An endpoint has nothing more to do with the channel, or object, that it has at the present connection. */
  leave(entry: EndpointEntry): void {
    this.#entries.leave(entry);
    if (entry.is === "producer" && this.#entries.producersOf(entry.channelNumber) === undefined)
      this.#modulation.installed.unpublished(entry.channelNumber);
    if (entry.is !== "consumer") return;
    this.#reception.leave(entry);
    this.#flow.left(entry);
    this.#demands.left(entry);
  }
}

/** Is it back after a time in which it has taken nothing, and of what came then only the newest counts? */
function wantsNewest({ rests, queue }: ConsumerEntry): boolean {
  return rests === true && queue.whenFull === WHEN_FULL.latest;
}

/** What was open before goes on behind the newest event that it has had; or begins with the newest, where that is all it wants of those since. */
function placeBehind(entry: ConsumerEntry): Place {
  if (wantsNewest(entry)) return { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 };
  return { from: FROM.resume, epoch: entry.epoch, seq: BigInt(entry.seq), at: 0, speed: 0 };
}
