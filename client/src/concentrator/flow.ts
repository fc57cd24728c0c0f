import type { Entries } from "./entries.ts";
import type { ConsumerEntry } from "./entry.ts";
import type { Link } from "./link.ts";

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

  constructor(entries: Entries, link: Link) {
    this.#entries = entries;
    this.#link = link;
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

  /** The thread of a consumer here does not take its events, or takes them again. */
  setStalled(endpoint: number, stalled: boolean): void {
    const entry = this.#entries.consumer(endpoint);
    if (entry === undefined) return;
    entry.isStalled = stalled;
    this.#changed(entry);
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
    if (this.#held.size > 0) this.#tell(entry.channelNumber);
  }

  /** A consumer leaves its channel: those that are still there decide. */
  left(entry: ConsumerEntry): void {
    if (this.#held.size === 0 || entry.channelNumber === 0) return;
    this.#tell(entry.channelNumber, entry);
    this.#held.delete(entry);
  }

  /**
   * A channel's events wait at the gateway as long as one of its consumers here says that it can take no more, or the threads
   * of all of them take none: a page that is frozen does not hold back another one.
   */
  #tell(channel: number, but?: ConsumerEntry): void {
    let consumers = 0;
    let stalled = 0;
    let isPaused = false;
    for (const entry of this.#entries.consumersOf(channel)) {
      if (entry === but) continue;
      consumers++;
      if (entry.isStalled) stalled++;
      isPaused ||= entry.isPaused;
    }
    const ready = !isPaused && (stalled < consumers || consumers === 0);
    if (ready === !this.#waiting.has(channel)) return;
    if (ready) this.#waiting.delete(channel);
    else this.#waiting.add(channel);
    this.#link.send({ kind: "Flow", derived: channel, ready });
  }

  /** The connection broke. */
  interrupted(): void {
    this.#blocked.clear();
    this.#held.clear();
    this.#waiting.clear();
  }
}
