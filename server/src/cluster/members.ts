import { createHash } from "node:crypto";

/** 2^32 by the golden ratio: gateways with neighbouring indices differ in all bits. */
const GOLDEN = 0x9e3779b1;

/**
 * The gateways of a cluster as one of them sees it. A channel's home is the one that comes first in an order of the channel's own (rendezvous
 * hashing; D. Thaler and C. Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM Transactions on Networking, 1998). So when a
 * gateway comes or goes only channels move that it has, or had. Where these keep files none moves.
 */
export class Members {
  readonly self: number;
  readonly #present: Set<number>;
  /** Indices of the gateways that are homes. */
  readonly #homes: ReadonlySet<number>;
  readonly #changed: (index: number, isThere: boolean) => void;

  /**
   * @param self this gateway's index @param changed called when a gateway has come or gone
   * @param fixed number of gateways where all are homes, whether they are there or not
   */
  constructor(self: number, changed: (index: number, isThere: boolean) => void, fixed?: number) {
    this.self = self;
    this.#present = new Set([self]);
    this.#homes = fixed === undefined ? this.#present : new Set(Array(fixed).keys());
    this.#changed = changed;
  }

  /** Indices of the gateways that are there. */
  get present(): ReadonlySet<number> {
    return this.#present;
  }

  /** Whether the gateway with this index can be a channel's home. */
  mayBeHome(index: number): boolean {
    return this.#homes.has(index);
  }

  came(index: number): void {
    this.#present.add(index);
    this.#changed(index, true);
  }

  left(index: number): void {
    if (this.#present.delete(index)) this.#changed(index, false);
  }

  /** Index of the gateway that is the home of the channel, or shared object, with this name. */
  homeOf(name: string): number {
    let [home, most] = [this.self, -1];
    if (this.#homes.size === 1) return home;
    const digest = createHash("sha1").update(name).digest();
    const [high, low] = [digest.readUInt32BE(0), digest.readUInt32BE(4)];
    for (const index of this.#homes) {
      const weight = mixed(mixed(high ^ Math.imul(index + 1, GOLDEN)) ^ low);
      if (weight > most || (weight === most && index < home)) [home, most] = [index, weight];
    }
    return home;
  }

  isHomeOf(name: string): boolean {
    return this.homeOf(name) === this.self;
  }
}

/** A number of 32 bits, each of which depends on all of these: the last steps of MurmurHash3 (A. Appleby). */
function mixed(bits: number): number {
  let mixing = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return (mixing ^ (mixing >>> 16)) >>> 0;
}
