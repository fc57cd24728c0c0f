import type { Departed } from "@jecho/shared/internal";

/** A producer that was closed at another gateway. */
export interface GatewayDeparture
  extends Readonly<Pick<Departed, "channel" | "source" | "raised" | "raisedUrgent">> {
  /** The subject of its token. */
  readonly by: string;
  /** When it was closed, by `performance.now`. */
  readonly at: number;
}

/** GatewayDepartures from channels that nobody has open yet are kept for so long, and so many of them. */
const KEPT_MS = 60_000;
const MOST_KEPT = 4096;

/** Producers that were closed at another gateway, of channels that nobody has open here yet. */
export class GatewayDepartures {
  #all: GatewayDeparture[] = [];

  add(departure: GatewayDeparture): void {
    this.#all.push(departure);
    if (this.#all.length > MOST_KEPT) this.#all.shift();
  }

  /** Departures from a channel that comes into being. */
  take(channel: string): GatewayDeparture[] {
    if (this.#all.length === 0) return [];
    const since = performance.now() - KEPT_MS;
    const kept = this.#all.filter(({ at }) => at > since);
    this.#all = kept.filter(departure => departure.channel !== channel);
    return kept.filter(departure => departure.channel === channel);
  }
}
