import type { Delegate, ModulatorOptions } from "@jecho/modulators";
import type { EventQueueOptions } from "../queues/queue-options.ts";

/** Options of `channel.produce`. */
export interface ProduceOptions {
  /**
   * Offers of this producer to modulators: views of its state, functions, controls. Of several producers of a channel
   * in one session, the first with a delegate offers.
   */
  readonly delegate?: Delegate;
  /** A queue of its own for this producer, whose events then neither fill nor empty the session's. */
  readonly queue?: EventQueueOptions;
  /** Ends the opening when it is aborted, and closes the producer once that is open. */
  readonly signal?: AbortSignal;
  /** History that the gateway keeps of this channel; none by default. */
  readonly history?: HistoryOptions;
  /** The name of a field with a number or a text: of events with the same value in it only the newest matters, to `latest` history and queues. Default: none. */
  readonly key?: string;
}

/** History that the gateway keeps of a channel's events, and of what modulators make of them. The wishes of several producers add up. */
export interface HistoryOptions {
  /** The last so many events. */
  readonly events?: number;
  /** Events of the last so many seconds. */
  readonly seconds?: number;
  /** The newest event of each value of `key`, or the newest of all without one; false by default. */
  readonly latest?: boolean;
  /** Only what is sent because somebody listens: nothing is sent for the sake of history alone. False by default. */
  readonly onDemand?: boolean;
  /**
   * Whether it is to outlive the gateway: an event is confirmed when it is stored, by gateways that NATS joins in JetStream, by one that stands alone in its history
   * file. Where there is neither, `produce` is refused with `HISTORY_NOT_DURABLE`. False by default: then it goes with the gateway, unless that has a file.
   */
  readonly durable?: boolean;
}

/** Options of `producer.publishWhenReady`. */
export interface WhenReadyOptions {
  /** Gives up waiting for room when it is aborted. */
  readonly signal?: AbortSignal;
}

/** Options of `producer.publishSync`. */
export interface SyncOptions {
  /** Time to wait for the consumers, in milliseconds; 10,000 by default, `Infinity` for as long as there is a connection. */
  readonly timeoutMs?: number;
  /** Gives up waiting when it is aborted; an event that was raised before goes its way all the same. */
  readonly signal?: AbortSignal;
}

/** Options for the modulators that consumers bring to a session's producers. */
export interface ProducerModulatorOptions extends ModulatorOptions {
  /**
   * Largest number of modulators in this process; 0 for none. Further ones run beside the gateway, or with
   * each consumer: the events come out the same, but cross the wire before they are filtered. Default: no
   * limit but the gateway's.
   */
  readonly most?: number | undefined;
}
