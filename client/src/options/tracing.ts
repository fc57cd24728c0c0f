/** A raised event, as every process that meets it knows it: by its count at its source, which outlives connections. */
export interface TracedEvent {
  /** The channel's name in full. */
  readonly channel: string;
  readonly source: bigint;
  /** Urgent events are counted apart. */
  readonly urgent: boolean;
  readonly raised: number;
}

/** What a modulator has been through at once. Times are in milliseconds since 1970. */
export interface TracedRun {
  readonly channel: string;
  readonly source: bigint;
  readonly urgent: boolean;
  /** Counts of the first and the last event. */
  readonly first: number;
  readonly last: number;
  /** Number of events that it made of them. */
  readonly made: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Records what becomes of events: the option `tracing` of `connect`, as `openTelemetry()` of `@jecho/client/opentelemetry` makes one. What
 * it throws is not caught.
 */
export interface Tracing {
  /** A producer of the session has raised an event. */
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
