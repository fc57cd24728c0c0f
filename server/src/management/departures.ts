import type { Departed } from "@jecho/shared/internal";
import { FairShares } from "../connections/fair-shares.ts";

/** A producer that was closed at another gateway, or of a channel that was forgotten here. */
export interface GatewayDeparture
  extends Readonly<Pick<Departed, "channel" | "source" | "raised" | "raisedUrgent">> {
  /** The subject of its token. */
  readonly by: string;
  /** On whose account it is kept: the subject's or, at a gateway without keys, the address'. */
  readonly whose: string;
  /** When it was closed, by `performance.now`. */
  readonly at: number;
}

/** Departures from channels that nobody has open are kept for so long, and so many of them. */
const KEPT_MS = 60_000;
const MOST_KEPT = 4096;

/** Producers that were closed at another gateway, or here, of channels that nobody has open here at present. */
export class GatewayDepartures {
  readonly #all = new FairShares<GatewayDeparture>(MOST_KEPT);

  add(departure: GatewayDeparture): void {
    if (departure.at <= performance.now() - KEPT_MS) return;
    this.#all.add(departure.whose, departure);
  }

  /** Departures from a channel that comes into being. */
  take(channel: string): GatewayDeparture[] {
    const since = performance.now() - KEPT_MS;
    const taken: GatewayDeparture[] = [];
    for (const departure of this.#all) {
      const isOld = departure.at <= since;
      if (!isOld && departure.channel !== channel) continue;
      this.#all.delete(departure.whose, departure);
      if (!isOld) taken.push(departure);
    }
    return taken;
  }
}
