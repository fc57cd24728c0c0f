import type { PlaceWays } from "../concentrator/parts.ts";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import { Hub } from "./hub.ts";

interface KnownHub {
  readonly options: ConcentratorOptions;
  readonly hub: Hub;
}

/** The hubs of one thread: sessions that want the same of the same connection share one. */
export class Hubs {
  readonly #ways: PlaceWays;
  /** Hubs by address and name, of which a process may have thousands. */
  readonly #hubs = new Map<string, Set<KnownHub>>();

  constructor(ways: PlaceWays) {
    this.#ways = ways;
  }

  /** The hub of a session with these options: the one that there is for the same options, or a new one. */
  of(options: ConcentratorOptions): Hub {
    const key = `${options.url} ${options.name}`;
    for (const { hub, options: others } of this.#hubs.get(key) ?? [])
      if (hub.isUsable && isSame(options, others)) return hub;
    const known = {
      options,
      hub: new Hub(options, this.#ways, () => this.#forget(key, known)),
    };
    // What another device hands over is for one session alone, and so is what a token allows.
    if (options.handover === "" && !options.hasToken) this.#add(key, known);
    return known.hub;
  }

  #add(key: string, known: KnownHub): void {
    const hubs = this.#hubs.get(key);
    if (hubs === undefined) this.#hubs.set(key, new Set([known]));
    else hubs.add(known);
  }

  #forget(key: string, known: KnownHub): void {
    const hubs = this.#hubs.get(key);
    if (hubs?.delete(known) && hubs.size === 0) this.#hubs.delete(key);
  }
}

/** Whether two values say the same: plain data by what is in it, functions by which they are. */
function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  // A member that is undefined says as much as one that is not there.
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)]))
    if (!isSame(left[name], right[name])) return false;
  return true;
}
