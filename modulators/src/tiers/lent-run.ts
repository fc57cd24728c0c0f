import { EventsFrame, encodeStretches, type RunHeader, type Stretch } from "@jecho/shared/internal";

/**
 * A run of events in memory that is reused once the call that was given it returns: modulators in the same process need no copy of it. `frame`
 * copies it for longer or other use.
 */
export class LentRun {
  readonly producer: number;
  readonly flags: number;
  /** None: lent runs come from producers. */
  readonly versions: readonly number[] = [];
  readonly count: number;
  readonly #events: Stretch;
  readonly #header: RunHeader;
  #frame: EventsFrame | undefined;

  constructor(header: RunHeader, events: Stretch) {
    this.#header = header;
    this.producer = header.producer;
    this.flags = header.flags;
    this.count = events.end - events.first;
    this.#events = events;
  }

  get channel(): number {
    return this.#header.channel;
  }

  get token(): bigint {
    return this.#header.token;
  }

  /** The same events as a run with other numbers. */
  readdressed(channel: number, producer: number): LentRun {
    return new LentRun({ ...this.#header, channel, producer }, this.#events);
  }

  /** The run's events, not copied. */
  stretch(): Stretch {
    return this.#events;
  }

  /** A copy of the run, made at most once. */
  frame(): EventsFrame {
    this.#frame ??= EventsFrame.at(encodeStretches(this.#header, [this.#events]));
    return this.#frame;
  }
}
