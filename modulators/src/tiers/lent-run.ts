import { EventsFrame, encodeStretches, type RunHeader, type Stretch } from "@jecho/shared/internal";

/**
 * A run of events where they lie, in memory that is written again once the call has returned that it was given to: for
 * modulators in the same process nothing has to be copied. Whoever needs it for longer, or elsewhere, asks for a frame.
 */
export class LentRun {
  readonly producer: number;
  readonly flags: number;
  /** None: a run that is lent comes from a producer. */
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

  /** The same events as a run under other numbers. */
  readdressed(channel: number, producer: number): LentRun {
    return new LentRun({ ...this.#header, channel, producer }, this.#events);
  }

  /** The run's events where they lie. */
  stretch(): Stretch {
    return this.#events;
  }

  /** The same run in memory of its own, made at most once. */
  frame(): EventsFrame {
    this.#frame ??= EventsFrame.at(encodeStretches(this.#header, [this.#events]));
    return this.#frame;
  }
}
