import type { Link } from "../link.ts";
import type { Lanes } from "./lane.ts";

/** A producer that was closed, and how far it was. */
interface Departure {
  readonly channel: string;
  readonly source: bigint;
  readonly raised: bigint;
  readonly raisedUrgent: bigint;
  readonly at: number;
}

/** Time after which nobody waits any more for what a producer had raised, and most producers of that time. */
const TOLD_MS = 60_000;
const MOST_TOLD = 1024;

/**
 * Producers of this process that were closed a short while ago. A gateway that is killed may have confirmed their last events and not handed them on, and the next one
 * has never heard of them: it is told how far they were.
 */
export class Departures {
  readonly #link: Link;
  #all: Departure[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  /** A producer of this channel is being closed. */
  add(channel: string, { usual, urgent }: Lanes): void {
    if (usual.raised + urgent.raised === 0) return;
    const [raised, raisedUrgent] = [BigInt(usual.raised), BigInt(urgent.raised)];
    this.#all.push({ channel, source: usual.source.id, raised, raisedUrgent, at: performance.now() });
    if (this.#all.length > MOST_TOLD) this.#all.shift();
  }

  /** Tells another connection's gateway. */
  tell(): void {
    const now = performance.now();
    this.#all = this.#all.filter(({ at }) => now - at < TOLD_MS);
    for (const { at, ...departed } of this.#all)
      this.#link.send({ kind: "Departed", agoMs: Math.ceil(now - at), ...departed });
  }
}
