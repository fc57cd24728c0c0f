import type { Demodulator, Modulator } from "@jecho/modulators";
import type { JechoError, Type } from "@jecho/shared";
import type { Versions } from "../consumer/versions.ts";

/** A consumer's handler, split: the modulator runs in every producer, the demodulator stays here. */
export interface EagerHandler {
  /** Modulator, as `modulatorFrom` or a standard modulator gives it. Default: none, so every event of the channel comes. */
  readonly modulator?: Modulator | undefined;
  /** Makes what the handler sees of what came. Default: none, so it sees just that. */
  readonly demodulator?: Demodulator | undefined;
  /** Capabilities of this consumer that its modulator may use; which ones it takes is for producers to say. Default: none. */
  readonly capabilities?: readonly string[] | undefined;
}

/** A consumer's position in one source of a modulator's output. Only for JEcho to read. */
export interface PlaceInSource {
  /** The source's name, of digits and letters. */
  readonly source: string;
  /** Whether the count is of urgent events. */
  readonly urgent: boolean;
  /** Count of its newest event that came; 0 for none. */
  readonly raised: number;
  /** The name of the raw source that it is made of. */
  readonly origin: string;
  /** Count of the newest event of that raw source which is accounted for. */
  readonly through: number;
}

/** A consumer's place in its channel: a sequence number, and which numbering that belongs to. Plain data, to be kept as JSON. */
export interface EventPlace {
  /** The numbering's number: a new one each time that the channel comes into being. */
  readonly epoch: number;
  /** Sequence number, from 1; 0 where no event came over the wire. */
  readonly seq: number;
  /** The consumer's position in each of its sources. Without them nobody tells of events between that no history has kept. */
  readonly sources?: readonly PlaceInSource[];
  /** When the consumer began, in milliseconds since 1970, by this machine's clock: it misses nothing of sources that had ended by then. Default: all are missed. */
  readonly since?: number;
}

/** Information on an event besides its content. */
export interface EventInfo {
  /** The event's number on its channel (a derived channel has its own numbers); 0 where the event never left this process. */
  readonly seq: number;
  /** The numbering that `seq` belongs to. */
  readonly epoch: number;
  /** The number of its producer at the gateway. */
  readonly producer: number;
  /**
   * Subject of the token of the event's producer. Undefined where the gateway knows no users.
   */
  readonly by: string | undefined;
  /** Version of the newest shared object that its modulator used; 0 without one. */
  readonly parameters: number;
  /** Versions of all shared objects that it was made with, on its whole way: `versions.of(object)`. */
  readonly versions: Versions;
  /** Type that the event was written as; undefined on an untyped channel. Its fields can be listed, whatever the consumer expects. */
  readonly type: Type | undefined;
  /** Id of the trace of the raised event that it is, or was made of: with `tracing`, where this event is traced. */
  readonly traceId?: string;
}

/**
 * Gets each event. Where it returns a promise, a synchronous event counts as handled when that is fulfilled. What it throws, or rejects
 * with, is told as `HANDLER_FAILED` (a `JechoError` as it is), to `publishSync` and to `onError`; the consumer goes on.
 */
export type Handler<T> = (event: T, info: EventInfo) => unknown;

/** Events that will not come. */
export interface Missed {
  /**
   * Number of missed events, whatever the reason. For a consumer with a modulator these are *raised* events
   * of which nobody knows what became: how many of them would have been let through cannot be known.
   */
  readonly events: number;
  /** Number of these events that were dropped because this consumer's process did not keep up; the others were lost on the way. */
  readonly dropped: number;
}

/** Options for the queue at the gateway, for events that a consumer's process has no room for. */
export interface QueueOptions {
  /**
   * - `drop-oldest`, the default: the oldest go
   * - `latest`: of each value of the channel's key only the newest waits, or of all where it has no key; older ones do not queue up in a
   *   slow network either
   * - `disconnect`: the consumer is cut off with `SLOW_CONSUMER`, and comes back as after a lost connection
   * - `block`: the producers wait; for pipelines, where all agree to that. One that has them wait for longer than the gateway allows (30 s unless it says otherwise)
   *   is cut off like that, too
   *
   * Consumers of one channel in one process share a queue; the policy holds that keeps most.
   */
  readonly whenFull?: "drop-oldest" | "latest" | "disconnect" | "block";
  /** Bytes that may wait; the gateway's own limit (8 MiB unless it says otherwise) by default and at most. */
  readonly limitBytes?: number;
}

/** Options for a consumer: what it does about errors, and about more events than it can take. */
export interface ConsumerOptions {
  /**
   * Gets what goes wrong with single events: by default what the handler or demodulator throws is thrown as an uncaught error, and all else written to
   * `console.error`; and what ended the consumer while it was
   * live, such as a failure of its modulator, where nobody listens to its status. Without it, that goes to the session's `onError`.
   */
  readonly onError?: (error: JechoError) => void;
  /** Called with the number of events that will not come, before the next one that does. */
  readonly onMissed?: (missed: Missed) => void;
  /** Called as by `consumer.onRestart`, but from the very beginning: a consumer that goes on behind a place may be told before `subscribe` resolves. */
  readonly onRestart?: (why: JechoError) => void;
  /** The queue at the gateway for events that this process does not keep up with. */
  readonly queue?: QueueOptions;
  /** Handlers' promises that may be under way before the gateway is asked to wait; 1,024 by default. */
  readonly inboxEvents?: number;
}

/** Options of `channel.subscribe`. */
export interface SubscribeOptions extends EagerHandler, ConsumerOptions {
  /** Ends the opening when it is aborted, and closes the consumer once that is open. */
  readonly signal?: AbortSignal;
  /**
   * Where to begin: `now`, the default; `last`: with the newest event, or the newest of each value of the channel's key;
   * a sequence number; behind a place that another consumer had (`consumer.place`), also over a restart of the gateway; or a
   * time of this machine's clock: with the first event that reached the gateway since then, or somewhat earlier, by no more than
   * a message from there takes, but never later. What is not kept any more is left out. Then it goes on live without a gap.
   * With a modulator, too: what is not kept of its output is made again, in this process, of what is kept of the channel. A sequence number is
   * the channel's own, and not that of the modulator's output; a place may be of either.
   */
  readonly from?: "now" | "last" | number | EventPlace | Date;
  /** Speed at which past events are sent: 1 for their original rhythm, 2 for twice as fast; as fast as possible by default. */
  readonly speed?: number;
  /** The application's own word for this subscription, for the device that it may be handed to; at most 1,024 characters. */
  readonly label?: string;
  /**
   * A name for what the modulator makes of this channel, one segment: others subscribe to it as `CHANNEL#NAME`, with or without a
   * modulator of their own. It has the name until its last consumer has gone. Default: none.
   */
  readonly as?: string;
}

/** Options of `subscription.takeOver`. */
export interface TakeOverOptions<T> extends ConsumerOptions {
  /** Type that the handler expects. Default: none, so it gets bytes. */
  readonly type?: Type<T>;
  /** The counterpart of the modulator that is installed, which does not travel with the token. Default: none. */
  readonly demodulator?: Demodulator | undefined;
  /** Ends the opening when it is aborted, and closes the consumer once that is open. */
  readonly signal?: AbortSignal;
}

/** Options of `consumer.reset`. */
export interface ResetOptions {
  /**
   * Wait until no event of the old pair is under way, too; false by default. Not for the handler itself to wait for: it would wait for its
   * own end.
   */
  readonly sync?: boolean;
}
