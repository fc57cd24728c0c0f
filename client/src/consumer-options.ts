import type { Demodulator, Modulator } from "@jecho/modulators";
import type { JechoError, Type } from "@jecho/shared";
import type { Versions } from "./versions.ts";

/** A consumer's handler, split: the modulator runs in every producer, the demodulator stays here. */
export interface EagerHandler {
  /** What `modulatorFrom` or a standard modulator gives. Default: none, so every event of the channel comes. */
  readonly modulator?: Modulator | undefined;
  /** Makes what the handler sees of what came. Default: none, so it sees just that. */
  readonly demodulator?: Demodulator | undefined;
  /** Capabilities of this consumer that its modulator may use; which ones it takes is for producers to say. Default: none. */
  readonly capabilities?: readonly string[] | undefined;
}

/** An event's place in its channel: a sequence number, and which numbering that belongs to. */
export interface EventPlace {
  /** Which numbering: another one each time that the channel comes into being. */
  readonly epoch: number;
  /** From 1. */
  readonly seq: number;
}

/** What is known of an event besides its content. */
export interface EventInfo {
  /** Its number on its channel (a derived channel has its own numbers); 0 where it never left this process. */
  readonly seq: number;
  /** Which numbering `seq` belongs to. */
  readonly epoch: number;
  /** The number of its producer at the gateway. */
  readonly producer: number;
  /** Version of the newest shared object that its modulator used; 0 without one. */
  readonly parameters: number;
  /** Versions of all shared objects that it was made with, on its whole way: `versions.of(object)`. */
  readonly versions: Versions;
  /** What the event was written as; undefined on an untyped channel. Its fields can be listed, whatever the consumer expects. */
  readonly type: Type | undefined;
}

/**
 * Gets each event. Where it returns a promise, a synchronous event counts as handled when that is fulfilled. What it throws, or rejects
 * with, is told as `HANDLER_FAILED` (a `JechoError` as it is), to `publishSync` and to `onError`; the consumer goes on.
 */
export type Handler<T> = (event: T, info: EventInfo) => unknown;

/** Events that will not come. */
export interface Missed {
  /**
   * How many, whatever the reason. Of a consumer with a modulator these are *raised* events of which nobody knows what became: how many of them
   * would have been let through cannot be known.
   */
  readonly events: number;
  /** So many of them were dropped because this consumer's process did not keep up; the others were lost on the way. */
  readonly dropped: number;
}

/** What the gateway does with events that a consumer's process has no room for. */
export interface QueueOptions {
  /**
   * - `drop-oldest`, the default: the oldest go
   * - `latest`: of each value of the channel's key only the newest waits, or of all where it has no key; older ones do not queue up in a
   *   slow network either
   * - `disconnect`: the consumer is cut off with `SLOW_CONSUMER`, and comes back as after a lost connection
   * - `block`: the producers wait; for pipelines, where all agree to that
   *
   * Consumers of one channel in one process share a queue; the policy holds that keeps most.
   */
  readonly whenFull?: "drop-oldest" | "latest" | "disconnect" | "block";
  /** Bytes that may wait; the gateway's own limit (8 MiB unless it says otherwise) by default and at most. */
  readonly limitBytes?: number;
}

/** What a consumer does with what goes wrong, and with more events than it can take. */
export interface ConsumerOptions {
  /**
   * Gets what goes wrong with single events, which by default is thrown as an uncaught error; and what ended the consumer while it was
   * live, such as a failure of its modulator, where nobody listens to its status. Without it, that goes to the session's `onError`.
   */
  readonly onError?: (error: JechoError) => void;
  /** Is told of events that will not come, before the next one that does. */
  readonly onMissed?: (missed: Missed) => void;
  /** Where events wait at the gateway while this process does not keep up. */
  readonly queue?: QueueOptions;
  /** Handlers' promises that may be under way before the gateway is asked to wait; 1,024 by default. */
  readonly inboxEvents?: number;
}

/** For `consumer.reset`. */
export interface ResetOptions {
  /**
   * Wait until no event of the old pair is under way, too; false by default. Not for the handler itself to wait for: it would wait for its
   * own end.
   */
  readonly sync?: boolean;
}
