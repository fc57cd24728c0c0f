import { WHEN_FULL } from "@jecho/shared/internal";
import type { Entries } from "./entries.ts";
import type { ConsumerEntry } from "./entry.ts";
import type { Link } from "./link.ts";
import { Pace } from "./pace.ts";

export interface FlowEvents {
  /** The thread of a consumer takes nothing, while others of its channel go on: it is to leave that for so long. */
  onRest(entry: ConsumerEntry): void;
  /** It takes events again. */
  onAwake(entry: ConsumerEntry): void;
}

/** Who can take no more for now: consumers here, of which the gateway is told, and those elsewhere that producers here wait for. */
export class Flow {
  readonly #entries: Entries;
  readonly #link: Link;
  /** Channels whose consumers asked the producers to wait. */
  readonly #blocked = new Set<number>();
  /** Consumers at a channel that can take no more. */
  readonly #held = new Set<ConsumerEntry>();
  /** Channels of which the gateway was told that their events are to wait. */
  readonly #waiting = new Set<number>();
  readonly #events: FlowEvents;
  readonly #pace: Pace;
  /** Consumers at a channel that want the newest only. */
  readonly #newest = new Set<ConsumerEntry>();
  /** Are their events to wait, for the connection is slower than they come? */
  #isHolding = false;

  constructor(entries: Entries, link: Link, events: FlowEvents) {
    this.#entries = entries;
    this.#link = link;
    this.#events = events;
    this.#pace = new Pace(link, {
      onHold: isHeld => {
        this.#isHolding = isHeld;
        link.together(() => this.#tellNewest());
      },
      onNext: () => {
        this.#isHolding = false;
        this.#tellNewest();
        this.#isHolding = true;
        this.#tellNewest();
      },
    });
  }

  /** Does anybody elsewhere ask to wait? */
  get isBlocked(): boolean {
    return this.#blocked.size > 0;
  }

  /** The consumers of a channel elsewhere ask to wait, or to go on. */
  told(channel: number, ready: boolean): void {
    if (ready) this.#blocked.delete(channel);
    else this.#blocked.add(channel);
  }

  /** A consumer here can take no more for now, or can again. */
  setReady(endpoint: number, ready: boolean): void {
    const entry = this.#entries.consumer(endpoint);
    if (entry === undefined) return;
    entry.isPaused = !ready;
    this.#changed(entry);
  }

  /** A thread does not take the events of these consumers, or takes them again. */
  setStalled(endpoints: readonly number[], stalled: boolean): void {
    const entries = endpoints.flatMap(endpoint => this.#entries.consumer(endpoint) ?? []);
    // All of them first: those that stall together do not go on without each other.
    for (const entry of entries) entry.isStalled = stalled;
    for (const entry of entries) this.#changed(entry);
    if (!stalled) for (const entry of entries) this.#events.onAwake(entry);
  }

  #changed(entry: ConsumerEntry): void {
    if (entry.channelNumber === 0) return;
    if (entry.isPaused || entry.isStalled) this.#held.add(entry);
    else this.#held.delete(entry);
    this.#tell(entry.channelNumber);
  }

  /** A consumer is at this channel now. */
  entered(entry: ConsumerEntry): void {
    if (entry.isPaused || entry.isStalled) this.#held.add(entry);
    if (wantsNewest(entry)) {
      this.#newest.add(entry);
      this.#pace.start();
    }
    if (this.#held.size > 0 || this.#isHolding) this.#tell(entry.channelNumber);
  }

  /** A consumer leaves its channel: those that are still there decide. */
  left(entry: ConsumerEntry): void {
    if (entry.channelNumber === 0) return;
    if (this.#held.size > 0 || this.#isHolding) this.#tell(entry.channelNumber, entry);
    this.#held.delete(entry);
    if (this.#newest.delete(entry) && this.#newest.size === 0) this.#stopPacing();
  }

  #stopPacing(): void {
    this.#pace.stop();
    this.#isHolding = false;
  }

  /** Of all channels at once, for there may be many: each look for a channel's consumers is one at all. */
  #tellNewest(): void {
    const channels = new Map<number, ConsumerEntry[]>();
    for (const { channelNumber } of this.#newest) channels.set(channelNumber, []);
    for (const entry of this.#entries.consumers) channels.get(entry.channelNumber)?.push(entry);
    for (const [channel, entries] of channels) this.#decide(channel, entries);
  }

  #tell(channel: number, but?: ConsumerEntry): void {
    this.#decide(
      channel,
      [...this.#entries.consumersOf(channel)].filter(entry => entry !== but),
    );
  }

  /**
   * A channel's events wait at the gateway as long as one of its consumers here says that it can take no more, or the threads
   * of all of them take none, or all of them want the newest only and the connection has not brought yet what was sent. A page that
   * is frozen does not hold back another one, nor is anything kept here for it meanwhile: unless the producers are to wait for it, it
   * leaves the channel, and comes back behind its place.
   */
  #decide(channel: number, entries: readonly ConsumerEntry[]): void {
    const consumers = entries.length;
    let newest = 0;
    let isPaused = false;
    const stalled: ConsumerEntry[] = [];
    for (const entry of entries) {
      if (entry.isStalled) stalled.push(entry);
      if (this.#newest.has(entry)) newest++;
      isPaused ||= entry.isPaused || (entry.isStalled && entry.queue.whenFull === WHEN_FULL.block);
    }
    const isTaken = !isPaused && (stalled.length < consumers || consumers === 0);
    const ready = isTaken && !(this.#isHolding && newest === consumers && consumers > 0);
    if (ready === this.#waiting.has(channel)) {
      if (ready) this.#waiting.delete(channel);
      else this.#waiting.add(channel);
      this.#link.send({ kind: "Flow", derived: channel, ready });
    }
    if (isTaken) for (const entry of stalled) this.#events.onRest(entry);
  }

  /** The connection broke. */
  interrupted(): void {
    this.#blocked.clear();
    this.#held.clear();
    this.#waiting.clear();
    this.#newest.clear();
    this.#stopPacing();
  }
}

/** What feeds modulators wants all events. */
function wantsNewest({ feed, queue }: ConsumerEntry): boolean {
  return feed === undefined && queue.whenFull === WHEN_FULL.latest;
}
