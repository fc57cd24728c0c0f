/** A source of events: what their counts belong to, over connections. */
interface TracedSource {
  /** The channel's name in full. */
  readonly channel: string;
  /** The source's random number. */
  readonly source: bigint;
  /** Whether the events are urgent ones, which are counted apart. */
  readonly urgent: boolean;
}

/** A raised event, as every process that meets it knows it. */
export interface TracedEvent extends TracedSource {
  /** Its count at its source. */
  readonly raised: number;
}

/** The events that a modulator was given at once. */
export interface TracedRun extends TracedSource {
  /** Count of the first event. */
  readonly first: number;
  /** Count of the last event. */
  readonly last: number;
  /** Number of events that it made of them. */
  readonly made: number;
  /** The time when it was given the first, in milliseconds since 1970. */
  readonly fromMs: number;
  /** The time when it had made those events, in milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * Records what becomes of events: the option `tracing` of `connect`, as `openTelemetry()` of `@jecho/client/opentelemetry` makes one. What
 * it throws is not caught.
 */
export interface Tracing {
  /** A producer of the session has raised an event, between these times in milliseconds since 1970. */
  published(event: TracedEvent, fromMs: number, untilMs: number): void;
  /** A modulator in the process of a producer of the session has made something of these events. */
  modulated(run: TracedRun): void;
  /**
   * Hands an event to its consumer. One that a modulator made has the identity of the newest raised event that it was made of.
   *
   * @param hand takes the trace's id, which is `info.traceId`; undefined where this event is not traced
   * @returns what `hand` returns
   */
  delivered<R>(event: TracedEvent, hand: (traceId: string | undefined) => R): R;
}

/** The present time in milliseconds since 1970, with fractions. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}
