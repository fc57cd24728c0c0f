import type { Entries } from "./entries.ts";
import type { Link } from "./link.ts";

/** Who can take no more for now: consumers here, of which the gateway is told, and those elsewhere that producers here wait for. */
export class Flow {
  readonly #entries: Entries;
  readonly #link: Link;
  /** Channels whose consumers asked the producers to wait. */
  readonly #blocked = new Set<number>();

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
    if (entry.channelNumber !== 0) this.tell(entry.channelNumber);
  }

  /** A channel's events wait at the gateway as long as one of its consumers here can take no more. */
  tell(channel: number): void {
    let ready = true;
    for (const { isPaused } of this.#entries.consumersOf(channel)) if (isPaused) ready = false;
    this.#link.send({ kind: "Flow", derived: channel, ready });
  }

  /** The connection broke. */
  interrupted(): void {
    this.#blocked.clear();
  }
}
