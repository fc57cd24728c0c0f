import { splitName } from "@jecho/shared";
import { type Modulator, tokenOf } from "@jecho/shared/internal";
import { type Installation, isSame } from "./installation.ts";

/** Gateways number their channels from 1; what is beyond is free for other names. */
const OTHER_NUMBERS = 1 << 20;

/**
 * The names of what modulators here are fed with: channels, and what other modulators make. Their environment knows each by
 * a number that outlives a connection, and two names may have one number.
 */
export class FeedNames {
  readonly #numbers = new Map<string, number>();
  /** The schemas of the types that the environment was told of for each number, by token. */
  readonly #types = new Map<number, Map<bigint, Uint8Array>>();

  has(name: string): boolean {
    return this.#numbers.size > 0 && this.#numbers.has(name);
  }

  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  /** The number that the environment knows this by: the channel's first one at a gateway, unless that is taken. */
  enter(name: string, channel: number): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      const taken = new Set(this.#numbers.values());
      number = channel;
      while (taken.has(number)) number += OTHER_NUMBERS;
      this.#numbers.set(name, number);
    }
    return number;
  }

  /** Two names for what the same modulators are fed with. */
  alias(name: string, feed: string, channel: number): void {
    const number = this.#numbers.get(name) ?? this.enter(feed, channel);
    this.#numbers.set(name, number);
    this.#numbers.set(feed, number);
  }

  forget(name: string): void {
    const number = this.#numbers.get(name);
    this.#numbers.delete(name);
    // It may have another name.
    if (number !== undefined && ![...this.#numbers.values()].includes(number)) this.#types.delete(number);
  }

  /** Types that the environment was told of for this number's events; more may be entered. */
  typesOf(number: number): Map<bigint, Uint8Array> {
    let types = this.#types.get(number);
    if (types === undefined) {
      types = new Map();
      this.#types.set(number, types);
    }
    return types;
  }
}

/** The modulators that are installed in this process, and which of them are fed with what. */
export class Installations {
  readonly #names: FeedNames;
  /** Installations by their numbers at the host. */
  readonly #installed = new Map<number, Installation>();
  /** By the number of what feeds them. */
  readonly #fed = new Map<number, Set<Installation>>();
  /** The names of the derived channels that producers here publish into, by their numbers. */
  readonly #direct = new Map<number, string>();

  constructor(names: FeedNames) {
    this.#names = names;
  }

  [Symbol.iterator](): Iterator<Installation> {
    return this.#installed.values();
  }

  /** Number of modulators that run for this process' own producers. */
  get own(): number {
    let own = 0;
    for (const { process } of this) if (process === 0) own++;
    return own;
  }

  get(hosted: number): Installation | undefined {
    return this.#installed.get(hosted);
  }

  add(installation: Installation): void {
    this.#installed.set(installation.hosted, installation);
    const { input } = installation;
    this.#fed.set(input, (this.#fed.get(input) ?? new Set()).add(installation));
    this.meet(installation);
  }

  delete(installation: Installation): void {
    const { hosted, input } = installation;
    this.#installed.delete(hosted);
    const others = this.#fed.get(input);
    others?.delete(installation);
    if (others?.size === 0) this.#fed.delete(input);
  }

  /** The installation that makes this derived channel of what this process raises, or that one. */
  ofNumber(derived: number, process = 0): Installation | undefined {
    for (const installation of this)
      if (installation.number === derived && installation.process === process) return installation;
    return undefined;
  }

  /**
   * The installation that is apart from its derived channel and is the very modulator that is asked for. One that leaves for good is so for its own
   * channel alone: another one begins elsewhere, and what is under way is not its.
   */
  apart(sources: readonly string[], modulator: Modulator, derived: number): Installation | undefined {
    for (const installation of this) {
      const { number, leaves, leaving } = installation;
      const isApart = number === 0 || (leaves && (leaving !== undefined || number === derived));
      if (!isApart || !sources.includes(installation.source)) continue;
      if (isSame(installation.modulator, modulator)) return installation;
    }
    return undefined;
  }

  /** Names of the feeds of the modulators that make this channel here. */
  feedsOf(derived: number): string[] {
    return [...this].filter(({ number }) => number === derived).map(({ wire }) => wire);
  }

  /** Whether anything is fed by this over the wire. */
  isFed(wire: string): boolean {
    for (const installation of this) if (installation.wire === wire) return true;
    return false;
  }

  /** Modulators that are fed by this. */
  fedBy(feed: string): Iterable<Installation> {
    return this.#fed.get(this.#names.numberOf(feed) ?? 0) ?? [];
  }

  /** Modulators here whose input is raised there, directly or one behind the other, each with the first of those. */
  madeOf(feed: string): Map<Installation, Installation> {
    const made = new Map(Array.from(this.fedBy(feed), first => [first, first]));
    for (const [installation, first] of made)
      for (const next of this.fedBy(installation.makes)) made.set(next, first);
    return made;
  }

  /** Length of the longest row of modulators behind each other. */
  get depth(): number {
    const depthOf = (feed: string): number => {
      let depth = 0;
      for (const { makes } of this.fedBy(feed)) depth = Math.max(depth, 1 + depthOf(makes));
      return depth;
    };
    let depth = 0;
    for (const feed of new Set(Array.from(this, ({ feed }) => feed))) depth = Math.max(depth, depthOf(feed));
    return depth;
  }

  /** The channels whose events come to this modulator, by the names that producers here have for them. */
  sourcesOf(installation: Installation): Iterable<string> {
    const { base, process } = installation;
    // No producer here has a name for what another process raises.
    if (this.#direct.size === 0 || process !== 0) return [base];
    const sources = new Set([base]);
    for (const name of [splitName(base).base, ...this.#direct.values()])
      if (this.madeOf(name).has(installation)) sources.add(name);
    return sources;
  }

  /** The names of the views that modulators of a channel need. */
  needsOf(base: string): string[] {
    const names = new Set<string>();
    for (const installation of this) {
      if (installation.base !== base) continue;
      for (const name of installation.needs) if (name.startsWith("context.")) names.add(name);
    }
    return [...names];
  }

  /** The schema of a type that a modulator here makes of its own. */
  schemaOf(token: bigint): Uint8Array | undefined {
    for (const { schema, reads } of this) {
      const own = schema.byteLength > 0 ? schema : reads;
      if (own.byteLength > 0 && tokenOf(own) === token) return own;
    }
    return undefined;
  }

  /** A producer here has this name for the channel with this number. Of one that is derived, its events go where those go that are made here. */
  published(channel: number, name: string): void {
    if (splitName(name).derived === "") return;
    this.#direct.set(channel, name);
    const made = this.ofNumber(channel);
    if (made !== undefined) this.#names.alias(name, made.makes, channel);
  }

  /** No producer here publishes into this one any more. */
  unpublished(channel: number): void {
    this.#direct.delete(channel);
  }

  /** Connects producers here that publish into its output, too. */
  meet(installation: Installation): void {
    const { number, process } = installation;
    const direct = this.#direct.get(number);
    if (direct !== undefined && process === 0) this.#names.alias(direct, installation.makes, number);
  }

  /** The connection broke: numbers mean nothing at another one. */
  interrupted(): void {
    this.#direct.clear();
  }
}
