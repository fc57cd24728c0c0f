import { JechoError, type Type } from "@jecho/shared";
import { checkOptions } from "@jecho/shared/internal";
import type { ChannelForm, Codec } from "../channel/codec.ts";
import { SYNC, WHEN_READY } from "../options/option-names.ts";
import type { SyncOptions, WhenReadyOptions } from "../options/producer-options.ts";
import { preciseNow, type Tracing } from "../options/tracing.ts";
import type { ControlRequest, PortNotice } from "../places/port.ts";
import { Count, type EventQueue, queueFull } from "../queues/event-queue.ts";
import { NewsListeners } from "../session/status.ts";
import { AwaitedEvents, LONGEST_MS, type Patience } from "./awaited-events.ts";
import type { Delegation } from "./delegation.ts";
import { type Demand, NO_DEMAND, withState } from "./demand.ts";

const NONE = Object.freeze({});

/** @throws JechoError `ARGUMENT_INVALID` */
function checkSyncOptions(options: SyncOptions): void {
  checkOptions<SyncOptions>("publishSync()", options, SYNC);
  const { timeoutMs = 0 } = options;
  if (!(timeoutMs >= 0))
    throw new JechoError("ARGUMENT_INVALID", `publishSync(): timeoutMs is ${timeoutMs}, which is no time`);
}

/** Session as producers see it. */
export interface ProducerSession {
  /** The queue of what goes before everything else. */
  readonly urgentQueue: EventQueue;
  /** Address of the gateway. */
  readonly address: string;
  readonly tracing: Tracing | undefined;
  post(request: ControlRequest): void;
  /** Resolves when what it raised has been taken, or after 30 s. */
  closeProducer(endpoint: number, queue: EventQueue): Promise<void>;
}

/** The states of a producer, as far as its application sees them. */
type State =
  | { readonly is: "open" }
  /** The connection broke: the producer is opened again by itself. */
  | { readonly is: "interrupted" }
  /** The application has closed it, or the gateway has refused it. */
  | { readonly is: "ended"; readonly refused: JechoError | undefined; readonly closing: Promise<void> };

const OPEN: State = { is: "open" };
const INTERRUPTED: State = { is: "interrupted" };

/** Raises events on a channel. Made by `channel.produce`. */
export class Producer<T> {
  // What each event needs comes first, for it to lie together in memory.
  #state: State = OPEN;
  #bytes = 0;
  readonly #endpoint: number;
  readonly #queue: EventQueue;
  readonly #raised = new Count();
  readonly #type: Type<T> | undefined;
  readonly #codec: Codec<T> | undefined;
  readonly #delegation: Delegation | undefined;
  readonly #tracing: Tracing | undefined;
  /** Urgent events are counted apart, for they overtake. */
  readonly #raisedUrgently = new Count();
  /** The channel's name in full. */
  readonly channel: string;
  readonly #session: ProducerSession;
  readonly #demandListeners = new NewsListeners<Demand>();
  #demand: Demand = NO_DEMAND;
  readonly #awaited: AwaitedEvents;
  #dropped = 0;
  /** Id of the source that its events are counted in, the same over connections; 0n until it is open. */
  #source = 0n;

  constructor(
    session: ProducerSession,
    endpoint: number,
    channel: ChannelForm<T>,
    queue: EventQueue,
    delegation: Delegation | undefined,
  ) {
    this.#session = session;
    this.#queue = queue;
    this.#endpoint = endpoint;
    this.channel = channel.name;
    this.#type = channel.type;
    this.#codec = channel.codec;
    this.#delegation = delegation;
    this.#tracing = session.tracing;
    this.#awaited = new AwaitedEvents(raised => session.post({ is: "giveUp", endpoint, raised }));
  }

  /** Demand at this moment: whether anybody would see an event, and through which modulators. */
  get demand(): Demand {
    return this.#demand;
  }

  /** Calls back when the demand changes; returns what stops that. */
  onDemand(listener: (demand: Demand) => void): () => void {
    return this.#demandListeners.add(listener);
  }

  /** Events and encoded bytes raised so far, and events dropped: by the queue's policy, or because there was no connection. */
  get stats(): { readonly events: number; readonly bytes: number; readonly dropped: number } {
    return {
      events: this.#raised.newest + this.#raisedUrgently.newest,
      bytes: this.#bytes,
      dropped: this.#dropped,
    };
  }

  /** Events that were raised and still wait in the queue. Counting them takes longer the more there are. */
  get bufferedEvents(): number {
    return this.#queue.countOf(this.#endpoint);
  }

  /**
   * Raises an event: encodes it and returns. Its values may be changed again afterwards. Reading them is not to raise another one, as a
   * getter of the event might: that one is refused with `EVENT_INVALID`.
   *
   * @returns the bytes that the event was encoded to
   * @throws JechoError `EVENT_INVALID` naming the field, `QUEUE_FULL`, `CLOSED`, or what the gateway refused the producer with when
   * it came back to it, such as `TYPE_MISMATCH`
   */
  publish(event: T): number {
    this.#checkOpen();
    return this.#raise(event, false);
  }

  /**
   * Raises several events that go out together: nothing is sent before `raise` has returned, unless the queue is half full. A
   * burst of events, such as the layers of one step, then costs one message instead of several, and modulators take it at once.
   *
   * @param raise raises them, with `publish` or `publishSync`; it is not to wait for anything
   * @returns what it returns
   */
  batch<R>(raise: () => R): R {
    return this.#queue.batch(raise);
  }

  /**
   * Raises an event that overtakes those which wait, here and at the gateway. Urgent events keep their order among themselves.
   *
   * @returns the bytes that the event was encoded to, at most 512 KiB
   * @throws JechoError `EVENT_INVALID` naming the field, `QUEUE_FULL` where a mebibyte of urgent events waits, `CLOSED`
   */
  publishUrgent(event: T): number {
    this.#checkOpen();
    return this.#raise(event, false, this.#session.urgentQueue, this.#raisedUrgently);
  }

  /**
   * Raises an event as the queue's policy says: where that is `block`, as soon as there is room for it. Its values may be
   * changed again when the promise is fulfilled.
   *
   * @returns the bytes that the event was encoded to
   * @throws JechoError `EVENT_INVALID` naming the field, `QUEUE_FULL`, `CLOSED`, `ARGUMENT_INVALID` for an option that it does not have,
   * or the signal's reason
   */
  async publishWhenReady(event: T, options: WhenReadyOptions = NONE): Promise<number> {
    this.#checkOpen();
    if (options !== NONE) checkOptions<WhenReadyOptions>("publishWhenReady()", options, WHEN_READY);
    return this.#queue.whenReady(this.#endpoint, () => this.#raise(event, false), options.signal);
  }

  /**
   * Raises an event and waits until every consumer of the channel and of its derived channels has handled it - its handler
   * has returned, or the promise that it returned is fulfilled - or its modulator has discarded it.
   * Synchronous and asynchronous events of a producer keep their order; any number may be under way.
   *
   * @returns how many consumers handled it; 0 at once where there are none
   * @throws JechoError `HANDLER_FAILED` with the number of handlers that failed and the first reason, `TIMED_OUT` with the
   * number of consumers that did not answer,
   * `CONNECTION_LOST`, `EVENT_INVALID`, `QUEUE_FULL`, `CLOSED`, `ARGUMENT_INVALID` for options that are none, or the signal's reason
   */
  publishSync(event: T, options: SyncOptions = NONE): Promise<number> {
    try {
      this.#checkOpen();
      if (options !== NONE) checkSyncOptions(options);
      const { timeoutMs = 10_000, signal } = options;
      const patience = { timeoutMs, endsAt: performance.now() + timeoutMs, signal };
      const raise = (): Promise<number> => this.#raiseSync(event, patience);
      signal?.throwIfAborted();
      return this.#queue.ifReady(raise) ?? this.#whenThereIsRoom(raise, patience);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #raiseSync(event: T, patience: Patience): Promise<number> {
    this.#checkOpen();
    // A command that cannot reach anybody now is not to take effect later.
    if (this.#state.is === "interrupted") throw new JechoError("CONNECTION_LOST", this.#away());
    this.#raise(event, true);
    return this.#awaited.wait(this.#raised.newest, patience);
  }

  async #whenThereIsRoom<R>(raise: () => Promise<R>, { timeoutMs, signal }: Patience): Promise<R> {
    const waiting = new AbortController();
    const abort = (): void => waiting.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(
      () => {
        const why = this.#state.is === "interrupted" ? `: ${this.#away()}` : "";
        waiting.abort(new JechoError("TIMED_OUT", `there was no room after ${timeoutMs} ms${why}`));
      },
      Math.min(timeoutMs, LONGEST_MS),
    );
    let processed: { readonly by: Promise<R> };
    try {
      processed = await this.#queue.whenReady(this.#endpoint, () => ({ by: raise() }), waiting.signal);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    return processed.by;
  }

  /**
   * Whether there is room for more: not while more than half of the queue is full, or somebody waits for room in it. While it is true, events
   * of up to an eighth of the queue each are never refused, whatever the policy:
   *
   * ```ts
   * for (const reading of readings) {
   *   if (!producer.isReady) await producer.ready();
   *   producer.publish(reading);
   * }
   * ```
   */
  get isReady(): boolean {
    return this.#queue.isReady;
  }

  /**
   * Resolves when there is room for more: when what was raised is on its way, as far as the connection, and consumers that have
   * producers wait for them (`queue: { whenFull: "block" }`), let it.
   *
   * @throws JechoError `CLOSED`, or the signal's reason
   */
  async ready({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#checkOpen();
    return this.#queue.ready(this.#endpoint, signal);
  }

  /** Leaves the channel. Resolves when what was raised before has been through the modulators here and taken, or after 30 s. */
  close(): Promise<void> {
    if (this.#state.is === "ended") return this.#state.closing;
    return this.#end(new JechoError("CLOSED", `the producer of ${this.channel} was closed`), undefined);
  }

  #end(error: JechoError, refused: JechoError | undefined): Promise<void> {
    const { promise: closing, resolve } = Promise.withResolvers<void>();
    this.#state = { is: "ended", refused, closing };
    this.#queue.leave(this.#endpoint, error);
    resolve(this.#session.closeProducer(this.#endpoint, this.#queue));
    this.#awaited.failAll(error);
    return closing;
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal For the session: what the concentrator tells of this endpoint. */
  notice(notice: PortNotice): void {
    if (notice.is === "processed") {
      this.#awaited.settle(notice.raised, notice.outcome);
    } else if (notice.is === "demand") {
      this.#demand = notice.demand;
      this.#demandListeners.tell(notice.demand);
    } else if (notice.is === "state") {
      this.#demand = withState(this.#demand, notice);
      this.#demandListeners.tell(this.#demand);
    } else if (notice.is === "dropped") {
      this.#dropped += notice.events;
      const error =
        notice.code === undefined
          ? new JechoError("CONNECTION_LOST", `${this.#away()}; the event went nowhere`)
          : notice.code === "QUEUE_FULL"
            ? queueFull()
            : new JechoError(notice.code, "the gateway takes no event as large");
      for (let i = 0; i < notice.events; i++) this.#awaited.fail(notice.raised + i, error);
    } else if (notice.is === "needs") {
      this.#delegation?.want(notice.names);
    } else if (notice.is === "called") {
      this.#delegation?.call(notice.name, notice.values);
    } else if (notice.is === "modulated") {
      this.#tracing?.modulated({ ...notice.run, channel: this.channel, source: this.#source });
    } else if (this.#state.is !== "ended") this.#changed(notice);
  }

  #changed(notice: PortNotice): void {
    if (notice.is === "opened") {
      this.#state = OPEN;
      this.#source = notice.source ?? 0n;
    } else if (notice.is === "interrupted") {
      this.#state = INTERRUPTED;
      const why = `the connection to the gateway at ${this.#session.address} broke before the answer came`;
      this.#awaited.failAll(new JechoError("CONNECTION_LOST", why));
    } else if (notice.is === "refused") void this.#end(notice.error, notice.error);
  }

  #away(): string {
    return `there is no connection to the gateway at ${this.#session.address}`;
  }

  #checkOpen(): void {
    const state = this.#state;
    if (state.is !== "ended") return;
    throw state.refused ?? new JechoError("CLOSED", `the producer of ${this.channel} is closed`);
  }

  #raise(event: T, sync: boolean, queue = this.#queue, count = this.#raised): number {
    this.#delegation?.look();
    const endpoint = this.#endpoint;
    const fromMs = this.#tracing === undefined ? 0 : preciseNow();
    const bytes =
      this.#codec === undefined
        ? queue.raise({ endpoint, count, type: this.#type, event, sync })
        : queue.raise({ endpoint, count, type: undefined, event: this.#codec.encode(event), sync });
    // Reading it may have run code that closed this producer: then it goes nowhere, which is to be said.
    this.#checkOpen();
    this.#bytes += bytes;
    if (this.#tracing !== undefined) {
      const urgent = count === this.#raisedUrgently;
      const traced = { channel: this.channel, source: this.#source, urgent, raised: count.newest };
      this.#tracing.published(traced, fromMs, preciseNow());
    }
    return bytes;
  }
}
