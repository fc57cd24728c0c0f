import type { EventsFrame, SourcePlace } from "@jecho/shared/internal";
import type { PlaceInSource } from "../options/consumer-options.ts";
import type { TracedEvent } from "../options/tracing.ts";

/** The source of a producer's number in the runs that follow, as the concentrator tells it. */
export interface NamedSource {
  readonly producer: number;
  readonly urgent: boolean;
  readonly source: bigint;
  /** The raw source of a modulator's output; 0n for raw events. */
  readonly origin: bigint;
  /** The consumer's positions in the source and in its raw source. */
  readonly raised: number;
  readonly through: number;
}

/** Nobody says that a source has gone for good: one that was silent while this many others came is forgotten. */
const MANY = 32_768;

/** A consumer's position in one source. */
class HandledSource {
  readonly named: NamedSource;
  /** Whether it was named, or had a run, since silent ones were last forgotten. */
  isHeard = true;
  raised: number;
  through: number;
  /** The run at hand: the count of its first event, the number of its last one, and what it accounts for. */
  #first = 0;
  #last = 0;
  #accounted = 0;
  #through = 0;

  constructor(named: NamedSource) {
    this.named = named;
    this.raised = named.raised;
    this.through = named.through;
  }

  /** Sets the position: earlier events will not come, or have been told. */
  goOn({ raised, through }: NamedSource): void {
    this.raised = Math.max(this.raised, raised);
    this.through = Math.max(this.through, through);
    this.isHeard = true;
  }

  /** The consumer is handed this run. Fields that all of its events share are read once. */
  begin({ raised, count, after, through, accounted }: EventsFrame): void {
    this.#first = raised;
    this.#through = through;
    this.#last = count - 1;
    this.#accounted = accounted;
    this.through = after;
    this.isHeard = true;
  }

  /** The consumer was handed event `i` of the run. */
  handled(i: number): void {
    this.raised = this.#first + i;
    if (i === this.#last) this.through = this.#accounted;
  }

  /** Count of the raised event that each event of the run is, or of the newest one that a modulator made it of. */
  traced(channel: string): (i: number) => TracedEvent {
    const { source, origin, urgent } = this.named;
    if (origin !== 0n) return () => ({ channel, source: origin, urgent, raised: this.#through });
    return i => ({ channel, source, urgent, raised: this.#first + i });
  }
}

/** A consumer's positions, one for each source. Events without a sequence number count, too. */
export class HandledSources {
  /** Positions by source; the newest named one is the last. */
  #bySource = new Map<string, HandledSource>();
  /** Positions by the producer's number at the present connection, and urgency. */
  readonly #byProducer = new Map<number, HandledSource>();
  /** Number of sources that were news. */
  #news = 0;

  /** The consumer begins behind these positions, which another one had. */
  inherit(places: readonly SourcePlace[]): void {
    for (const { source, urgent, raised, origin, through } of [...places].reverse())
      this.#enter({ producer: 0, urgent, source, origin, raised: Number(raised), through: Number(through) });
  }

  /** A producer's runs are of this source from now on. */
  name(named: NamedSource): void {
    const { producer, urgent, source, origin } = named;
    // Another modulator makes its events from here on, and states the former one's position itself.
    if (origin !== 0n && origin !== source) this.#bySource.delete(nameOf(origin, urgent));
    this.#byProducer.set(keyOf(producer, urgent), this.#enter(named));
  }

  #enter(named: NamedSource): HandledSource {
    const name = nameOf(named.source, named.urgent);
    const before = this.#bySource.get(name);
    const known = before?.named.origin === named.origin ? before : new HandledSource(named);
    known.goOn(named);
    this.#bySource.delete(name);
    this.#bySource.set(name, known);
    if (known !== before && ++this.#news % MANY === 0) this.#forgetSilent();
    return known;
  }

  #forgetSilent(): void {
    for (const sources of [this.#byProducer, this.#bySource] as Map<unknown, HandledSource>[])
      for (const [key, { isHeard }] of sources) if (!isHeard) sources.delete(key);
    for (const source of this.#bySource.values()) source.isHeard = false;
  }

  /** The source of a run; undefined where it has none. */
  of({ producer, isUrgent }: EventsFrame): HandledSource | undefined {
    return this.#byProducer.get(keyOf(producer, isUrgent));
  }

  get isEmpty(): boolean {
    return this.#bySource.size === 0;
  }

  /**
   * The consumer has another modulator, or none: it keeps the former one's position in each raw source.
   *
   * @param isPlain whether what comes next are the raw events themselves
   */
  changed(isPlain: boolean): void {
    const former = [...this.#bySource.values()];
    this.#bySource = new Map();
    this.#byProducer.clear();
    for (const { named, raised, through } of former) {
      const { urgent, source, origin } = named;
      const [raw, reached] = origin === 0n ? [source, raised] : [origin, through];
      const counts = isPlain
        ? { origin: 0n, raised: reached, through: 0 }
        : { origin: raw, raised: 0, through: reached };
      this.#enter({ producer: 0, urgent, source: raw, ...counts });
    }
  }

  /** Positions in all sources. Among sources made of one raw source, the one that was named last comes first. */
  places(): PlaceInSource[] {
    return Array.from(this.#bySource.values(), ({ named, raised, through }) => ({
      source: named.source.toString(16),
      urgent: named.urgent,
      raised,
      origin: named.origin.toString(16),
      through,
    })).reverse();
  }
}

function nameOf(source: bigint, urgent: boolean): string {
  return `${source} ${urgent}`;
}

function keyOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}

/** Checks positions that `HandledSources.places` gave, maybe by way of JSON. @throws SyntaxError, RangeError, TypeError where it is none of that */
export function sourcePlaces(places: readonly PlaceInSource[]): SourcePlace[] {
  return places.map(({ source, urgent, raised, origin, through }) => ({
    source: parseId(source),
    urgent,
    raised: BigInt(raised),
    origin: parseId(origin),
    through: BigInt(through),
  }));
}

function parseId(text: string): bigint {
  return BigInt.asUintN(64, BigInt(`0x${text}`));
}
