import { splitName } from "@jecho/shared";
import { type Modulator, tokenOf } from "@jecho/shared/internal";
import { type Installation, isApart, isSame } from "./installation.ts";

/** Gateways number their channels from 1; numbers from here on are free for other names. */
const OTHER_NUMBERS = 1 << 20;

/**
 * The names of modulators' inputs: channels, and other modulators' outputs. The environment knows an input by a number that outlives
 * connections. Two names may have one number, and a name several: what comes by it goes to the modulators with any of them.
 */
export class FeedNames {
  readonly #numbers = new Map<string, readonly number[]>();
  /** The schemas that the environment knows for each number, by token. */
  readonly #types = new Map<number, Map<bigint, Uint8Array>>();
  readonly #isFeeding: (number: number) => boolean;

  /** @param isFeeding whether a modulator has this number's input, or will */
  constructor(isFeeding: (number: number) => boolean) {
    this.#isFeeding = isFeeding;
  }

  has(name: string): boolean {
    return this.#numbers.has(name);
  }

  /** The environment's numbers of this name; none for an unknown one. */
  numbersOf(name: string): readonly number[] {
    return this.#numbers.get(name) ?? [];
  }

  /** A number of this name: the channel's first one at a gateway, unless that is taken, or a modulator's input. */
  enter(name: string, channel: number): number {
    let [number] = this.numbersOf(name);
    if (number === undefined) {
      const taken = this.#taken();
      number = channel;
      while (taken.has(number) || this.#isFeeding(number)) number += OTHER_NUMBERS;
      this.#numbers.set(name, [number]);
    }
    return number;
  }

  /** From now on each of two names feeds what the other one does, besides what it feeds itself. */
  alias(name: string, feed: string, channel: number): void {
    const known = [...new Set([...this.numbersOf(name), ...this.numbersOf(feed)])];
    const feeding = known.filter(number => this.#isFeeding(number));
    const numbers = feeding.length > 0 ? feeding : [known[0] ?? this.enter(feed, channel)];
    this.#numbers.set(name, numbers);
    this.#numbers.set(feed, numbers);
  }

  #taken(): Set<number> {
    return new Set([...this.#numbers.values()].flat());
  }

  forget(name: string): void {
    const numbers = this.numbersOf(name);
    this.#numbers.delete(name);
    // A number may have another name.
    const others = this.#taken();
    for (const number of numbers) if (!others.has(number)) this.#types.delete(number);
  }

  /** The schemas that the environment knows for this number; the caller may add some. */
  typesOf(number: number): Map<bigint, Uint8Array> {
    let types = this.#types.get(number);
    if (types === undefined) {
      types = new Map();
      this.#types.set(number, types);
    }
    return types;
  }
}

/** The modulators installed in this process, by their inputs and outputs. */
export class Installations {
  /** The names of their inputs. */
  readonly names = new FeedNames(
    number => this.#fed.has(number) || [...this.ordered.values()].includes(number),
  );
  /** Inputs of modulators that the environment is installing, by their hosted numbers. */
  readonly ordered = new Map<number, number>();
  /** Installations by their hosted numbers. */
  readonly #installed = new Map<number, Installation>();
  /** Installations by the number of their input. */
  readonly #fed = new Map<number, Set<Installation>>();
  /** The names of the derived channels that producers here publish into, by their numbers. */
  readonly #direct = new Map<number, string>();

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

  /** The installation that makes this derived channel for a producing process; 0 for this one. */
  ofNumber(derived: number, process = 0): Installation | undefined {
    for (const installation of this)
      if (installation.number === derived && installation.process === process) return installation;
    return undefined;
  }

  /**
   * An installation that has this modulator and input, and is this derived channel's, or has no number at the present connection and is not being
   * removed for good.
   */
  apart(sources: readonly string[], modulator: Modulator, derived: number): Installation | undefined {
    for (const installation of this) {
      const isIts = isApart(installation) || installation.number === derived;
      if (!isIts || !(sources.includes(installation.source) || this.#isFedHere(installation, sources)))
        continue;
      if (isSame(installation.modulator, modulator)) return installation;
    }
    return undefined;
  }

  /** Whether producers here feed it by one of these names, though another modulator's output did that before. */
  #isFedHere({ process, input }: Installation, names: readonly string[]): boolean {
    return process === 0 && names.some(name => this.names.numbersOf(name).includes(input));
  }

  /** Names of the feeds of the modulators that make this channel here. */
  feedsOf(derived: number): string[] {
    return [...this].filter(({ number }) => number === derived).map(({ wire }) => wire);
  }

  /** Whether any modulator is fed by this over the wire. */
  isFed(wire: string): boolean {
    for (const installation of this) if (installation.wire === wire) return true;
    return false;
  }

  /** The feed over the wire of what is behind this modulator, besides its output; undefined for none. */
  wireBehind(makes: string): string | undefined {
    for (const { source, wire } of this) if (source === makes && wire !== "") return wire;
    return undefined;
  }

  /** Modulators with this input. */
  *fedBy(feed: string): Generator<Installation> {
    for (const number of this.names.numbersOf(feed)) yield* this.#fed.get(number) ?? [];
  }

  /** Modulators here with input from this channel, directly or behind others, each with the first modulator on that way. */
  madeOf(feed: string): Map<Installation, Installation> {
    const made = new Map(Array.from(this.fedBy(feed), first => [first, first]));
    for (const [installation, first] of made)
      for (const next of this.fedBy(installation.makes)) made.set(next, first);
    return made;
  }

  /** Length of the longest chain of modulators. */
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

  /** The channels whose events reach this modulator, by the names of producers here. */
  sourcesOf(installation: Installation): Iterable<string> {
    const { base, process } = installation;
    // Producers here have no name for another process's events.
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

  /** The schema with this token that a modulator here declared. */
  schemaOf(token: bigint): Uint8Array | undefined {
    for (const { schema, reads } of this) {
      const own = schema.byteLength > 0 ? schema : reads;
      if (own.byteLength > 0 && tokenOf(own) === token) return own;
    }
    return undefined;
  }

  /** Notes a producer's name for the channel with this number: its events go to the same modulators as output made here. */
  published(channel: number, name: string): void {
    if (splitName(name).derived === "") return;
    this.#direct.set(channel, name);
    const made = this.ofNumber(channel);
    if (made !== undefined) this.names.alias(name, made.makes, channel);
  }

  /** No producer here publishes into this derived channel any more. */
  unpublished(channel: number): void {
    this.#direct.delete(channel);
  }

  /** Connects producers here that publish into the modulator's derived channel. */
  meet(installation: Installation): void {
    const { number, process } = installation;
    const direct = this.#direct.get(number);
    if (direct !== undefined && process === 0) this.names.alias(direct, installation.makes, number);
  }

  /** The connection broke: its numbers are invalid. */
  interrupted(): void {
    this.#direct.clear();
  }
}
