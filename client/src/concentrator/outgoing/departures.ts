import type { Link } from "../link.ts";
import type { Lanes } from "./lane.ts";

/** A closed producer and its last counts. */
interface Departure {
  readonly channel: string;
  readonly source: bigint;
  readonly raised: bigint;
  readonly raisedUrgent: bigint;
  readonly at: number;
}

/** Time after which nobody waits for a closed producer's events any more, and most producers that are remembered. */
const TOLD_MS = 60_000;
const MOST_TOLD = 1024;

/**
 * Producers of this process that were closed a short while ago. A gateway that is killed may have confirmed their last events without sending them on,
 * and the next one does not know them: it is told their last counts.
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

  /** Tells the gateway of a new connection. */
  tell(): void {
    const now = performance.now();
    this.#all = this.#all.filter(({ at }) => now - at < TOLD_MS);
    for (const { at, ...departed } of this.#all)
      this.#link.send({ kind: "Departed", agoMs: Math.ceil(now - at), ...departed });
  }
}
