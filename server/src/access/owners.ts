import { FairShares } from "../connections/fair-shares.ts";
import { patternOf } from "./rights.ts";
import type { Subject } from "./subject.ts";

interface OwnedChannel {
  readonly owner: string;
  /** Number of the channel's producers, of any subject. */
  producers: number;
}

/**
 * Owners of channels at a gateway with keys: the configured subject, or else that of the first producer, until the
 * last one has been gone for a while. Others publish there only with the right `own`.
 */
export class ChannelOwners {
  readonly #named: readonly (readonly [RegExp, string])[];
  readonly #keepMs: number;
  readonly #owned = new Map<string, OwnedChannel>();
  /** When a channel lost its last producer, by `performance.now()`, oldest first. */
  readonly #left = new Map<string, number>();
  /** The same channels, of each owner. */
  readonly #leftOf: FairShares<string>;

  /**
   * @param named subjects by patterns of channels, as in rights
   * @param keepMs time that a channel without producers keeps its owner
   * @param mostLeft most such channels: beyond, the subject that has most of them loses the oldest
   * @throws JechoError `ARGUMENT_INVALID` naming the invalid pattern
   */
  constructor(named: Readonly<Record<string, string>>, keepMs: number, mostLeft: number) {
    this.#named = Object.entries(named).map(([pattern, subject]) => [patternOf(pattern), subject]);
    this.#keepMs = keepMs;
    this.#leftOf = new FairShares(mostLeft);
  }

  /**
   * Checks that a subject may publish on a channel, or behind it.
   *
   * @param name the channel's or derived channel's
   * @throws JechoError `RIGHT_MISSING`
   */
  check(channel: string, name: string, subject: Subject): void {
    this.#forgetOld();
    const named = this.#named.filter(([pattern]) => pattern.test(channel)).map(([, owner]) => owner);
    const owner = this.#owned.get(channel)?.owner;
    const owners = named.length > 0 || owner === undefined ? named : [owner];
    if (owners.length > 0 && !owners.includes(subject.name)) subject.check("own", name);
  }

  /** A producer was opened. */
  entered(channel: string, { name }: Subject): void {
    // At a gateway without keys.
    if (name === "") return;
    const owned = this.#owned.get(channel);
    if (owned === undefined) return void this.#owned.set(channel, { owner: name, producers: 1 });
    owned.producers++;
    if (this.#left.delete(channel)) this.#leftOf.delete(owned.owner, channel);
  }

  left(channel: string): void {
    const owned = this.#owned.get(channel);
    if (owned === undefined || --owned.producers > 0) return;
    this.#left.set(channel, performance.now());
    this.#forgetOld();
    const lost = this.#left.has(channel) ? this.#leftOf.add(owned.owner, channel) : undefined;
    if (lost !== undefined) this.#forget(lost);
  }

  #forgetOld(): void {
    const oldest = performance.now() - this.#keepMs;
    for (const [channel, leftAt] of this.#left) {
      if (leftAt > oldest) return;
      this.#leftOf.delete(this.#owned.get(channel)?.owner ?? "", channel);
      this.#forget(channel);
    }
  }

  #forget(channel: string): void {
    this.#left.delete(channel);
    this.#owned.delete(channel);
  }
}
