import type { Demodulator, Modulator } from "@jecho/modulators";
import type { ModulatorTable } from "@jecho/modulators/internal";
import { JechoError, parseChannelName, splitName } from "@jecho/shared";
import type { EventsFrame, Inherited } from "@jecho/shared/internal";
import type { ChannelForm } from "../channel/codec.ts";
import type {
  ConsumerOptions,
  EagerHandler,
  EventInfo,
  EventPlace,
  Handler,
  Missed,
  ResetOptions,
} from "../options/consumer-options.ts";
import { labelOf } from "../options/open-options.ts";
import type { TracedEvent, Tracing } from "../options/tracing.ts";
import type { ControlRequest, PortNotice } from "../places/port.ts";
import { guarded, NewsListeners, type Status, statusNow, tell } from "../session/status.ts";
import { EventReader, type Mismatch, type RaisedBy, type WrittenBy } from "./event-reader.ts";
import { HandledSources } from "./handled-sources.ts";
import { type AwaitedEvent, demodulate, Failures, Handling, handAll, promiseOf } from "./handling.ts";
import type { Placement } from "./placement.ts";
import { Resets } from "./resets.ts";
import { NO_VERSIONS, Versions } from "./versions.ts";

/** Session as consumers see it. */
export interface ConsumerSession {
  post(request: ControlRequest): void;
  /** A modulator, to be installed. @throws JechoError what makes it one that cannot be */
  tableOf(modulator: Modulator, capabilities?: readonly string[]): ModulatorTable;
  closeEndpoint(endpoint: number): void;
  readonly tracing: Tracing | undefined;
  readonly types: WrittenBy;
  readonly producers: RaisedBy;
  /** Something went wrong that no endpoint's listener hears of. */
  failed(error: JechoError): void;
}

/** One list for all consumers without shared objects on their events' way, which are most. */
const NO_OBJECTS: readonly bigint[] = [];

/** Receives the events of a channel, or of the channel that its modulator derives. Made by `channel.subscribe`. */
export class Consumer<T> {
  // Fields that each run needs come first, so that they lie together in memory.
  #events = 0;
  #bytes = 0;
  readonly #reader: EventReader<T>;
  #isClosed = false;
  /** Tags of the shared objects on its events' way. */
  #objects = NO_OBJECTS;
  #epoch = 0;
  #seq = 0;
  readonly #sources = new HandledSources();
  #demodulator: Demodulator | undefined;
  readonly #handler: Handler<T>;
  readonly #handling: Handling;
  readonly #tracing: Tracing | undefined;
  /** The channel's name in full. */
  readonly channel: string;
  readonly #session: ConsumerSession;
  readonly #endpoint: number;
  readonly #onError: (error: JechoError) => void;
  /** The consumer's own listener for errors, or else the session's. */
  readonly #onEnd: (error: JechoError) => void;
  readonly #onMissed: (missed: Missed) => void;
  readonly #statusListeners = new NewsListeners<Status>();
  readonly #resets: Resets;
  #placements: readonly Placement[] = [];
  readonly #restartListeners = new NewsListeners<JechoError>();
  readonly #placementListeners = new NewsListeners<readonly Placement[]>();
  #missed = 0;
  #dropped = 0;
  #status: Status = statusNow("connecting");
  /** When it began, or the one that it goes on behind. */
  readonly #since: number;

  /** @param behind the place where another one was, which this one goes on behind */
  constructor(
    session: ConsumerSession,
    endpoint: number,
    channel: ChannelForm<T>,
    handler: Handler<T>,
    pair: EagerHandler,
    options: ConsumerOptions,
    behind?: Pick<Inherited, "epoch" | "seq" | "sources"> & { readonly since: number },
  ) {
    if (typeof handler !== "function")
      throw new JechoError("ARGUMENT_INVALID", "subscribe() takes a function");
    if (behind !== undefined) {
      this.#epoch = behind.epoch;
      this.#seq = Number(behind.seq);
      this.#sources.inherit(behind.sources);
    }
    this.#since = behind?.since ?? Date.now();
    this.#session = session;
    this.#endpoint = endpoint;
    this.channel = channel.name;
    this.#reader = new EventReader(channel, pair.modulator !== undefined, session.types);
    this.#handler = handler;
    this.#tracing = session.tracing;
    this.#demodulator = pair.demodulator;
    this.#onError = guarded(options.onError ?? tell);
    this.#onEnd = guarded(options.onError ?? (error => session.failed(error)));
    this.#onMissed = guarded(options.onMissed ?? (() => {}));
    if (options.onRestart !== undefined) this.onRestart(options.onRestart);
    this.#handling = new Handling(
      {
        onHandled: (channel, producer, raised, outcome) =>
          session.post({ is: "handled", endpoint, channel, producer, raised, outcome }),
        onFlow: ready => {
          if (this.#status.state !== "closed") session.post({ is: "flow", endpoint, ready });
        },
      },
      options.inboxEvents,
    );
    this.#resets = new Resets(pair, {
      endpoint,
      post: request => session.post(request),
      tableOf: (...of) => session.tableOf(...of),
      settled: () => this.#handling.settled(),
    });
  }

  /** The consumer's present state. */
  get status(): Status {
    return this.#status;
  }

  /** The consumer's place, behind which another consumer may go on (`from`), also in another process and over a restart of the gateway; undefined before any event. */
  get place(): EventPlace | undefined {
    const sources = this.#sources.isEmpty ? undefined : this.#sources.places();
    if (this.#seq === 0 && sources === undefined) return undefined;
    return { epoch: this.#epoch, seq: this.#seq, ...(sources && { sources, since: this.#since }) };
  }

  /**
   * Places where the modulator runs, for the producers of each process, and reasons where that is not with
   * the producer. Empty without a modulator, and while nobody produces.
   */
  get placements(): readonly Placement[] {
    return this.#placements;
  }

  /** Calls back when that changes; returns what stops it. */
  onPlacements(listener: (placements: readonly Placement[]) => void): () => void {
    return this.#placementListeners.add(listener);
  }

  /**
   * Calls back when the modulator began anew at one of the producers, without the state that it had: with
   * `MODULATOR_RESTARTED` and the reason; returns what stops that.
   */
  onRestart(listener: (why: JechoError) => void): () => void {
    return this.#restartListeners.add(listener);
  }

  /** Calls back when the status changes; returns what stops that. */
  onStatus(listener: (status: Status) => void): () => void {
    return this.#statusListeners.add(listener);
  }

  /**
   * Events that came in, before any demodulator, and the bytes of their frames on the wire; events that will not come, and
   * how many of those were dropped because this process did not keep up.
   */
  get stats(): {
    readonly events: number;
    readonly bytes: number;
    readonly missed: number;
    readonly dropped: number;
  } {
    return { events: this.#events, bytes: this.#bytes, missed: this.#missed, dropped: this.#dropped };
  }

  /**
   * Changes the pair of modulator and demodulator, at one moment for this consumer: no event of the old pair comes after the
   * first of the new one. An event that is raised while they change may come of both; one that comes of neither counts as missed. Resolves when
   * the new modulator is installed in every producer and in force; with `sync`, when in addition no event of the old pair is under way any more:
   * the promises that the handler returned for them are settled. Of several changes under way only the newest is installed: the earlier ones
   * resolve with it, or are tried if it fails. It goes on with what is raised from then on, wherever the consumer began; one that began with
   * `from: "last"` gets the newest of the new pair first.
   *
   * @throws JechoError the reason why the installation failed, or `ARGUMENT_INVALID`: the old pair goes on then; or what ended the consumer
   */
  reset(pair: EagerHandler, options: ResetOptions = {}): Promise<void> {
    if (this.#status.state === "closed" || this.#status.state === "refused") {
      return Promise.reject(
        new JechoError("CLOSED", `the consumer of ${this.channel} is ${this.#status.state}`),
      );
    }
    return this.#resets.ask(pair, options);
  }

  /**
   * Replaces the label, the application's own word for this subscription, for the device that it may be handed to.
   *
   * @throws JechoError `ARGUMENT_INVALID` with more than 1,024 characters
   */
  relabel(label: string): void {
    this.#session.post({ is: "label", endpoint: this.#endpoint, label: labelOf(label) });
  }

  /** Leaves the channel; the handler is not called again. */
  close(): Promise<void> {
    if (this.#status.state !== "closed") {
      this.#session.closeEndpoint(this.#endpoint);
      this.#end(statusNow("closed"));
    }
    return Promise.resolve();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal For the session: what the concentrator tells of this endpoint. */
  notice(notice: PortNotice): void {
    if (this.#status.state === "closed") return;
    switch (notice.is) {
      case "opened":
        this.#opened(notice);
        break;
      case "refused":
        if (notice.reset === 0) this.#refuse(notice.error);
        else this.#resets.refused(notice.reset, notice.error);
        break;
      case "compare":
        this.#resets.compare(notice);
        break;
      case "interrupted":
        this.#setStatus(statusNow("reconnecting"));
        break;
      case "impaired":
        if (notice.error.code === "MODULATOR_RESTARTED") this.#restartListeners.tell(notice.error);
        else this.#onError(notice.error);
        break;
      case "source":
        this.#sources.name(notice);
        break;
      case "placed":
        this.#placements = notice.placements;
        this.#placementListeners.tell(notice.placements);
        break;
      case "replayed":
        this.#setStatus({ ...this.#status, replaying: false });
        break;
      case "missing":
        this.#missed += notice.events;
        this.#dropped += notice.dropped;
        this.#onMissed({ events: notice.events, dropped: notice.dropped });
        break;
      default:
    }
  }

  #opened({
    reset,
    replays,
    recovered,
    missing,
    placements = [],
    objects = NO_OBJECTS,
  }: Extract<PortNotice, { is: "opened" }>): void {
    this.#reader.forgetMismatches();
    this.#placements = placements;
    this.#objects = objects.length === 0 ? NO_OBJECTS : objects;
    this.#resets.opened(reset, ({ modulator, demodulator }) => {
      this.#reader.modulate(modulator !== undefined);
      this.#sources.changed(modulator === undefined && !isDerived(this.channel));
      this.#demodulator = demodulator;
    });
    this.#setStatus({
      ...statusNow("live"),
      ...(replays && { replaying: true }),
      ...(recovered !== undefined && { recovered }),
      ...(missing !== undefined && { missing }),
    });
  }

  /** Ends the consumer, and tells the error even where nobody listens to the status. */
  #refuse(error: JechoError): void {
    const tells = this.#status.state === "live" && !this.#statusListeners.isHeard;
    // Nothing comes for the consumer any more, whether the application closes it or not.
    this.#session.closeEndpoint(this.#endpoint);
    this.#end(statusNow("refused", error));
    if (tells) this.#onEnd(error);
  }

  #end(status: Status): void {
    const error = status.error ?? new JechoError("CLOSED", `the consumer of ${this.channel} was closed`);
    this.#resets.end(error);
    this.#setStatus(status);
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#isClosed = status.state === "closed";
    this.#statusListeners.tell(status);
  }

  /** @internal For the session: a run whose frame was checked; its events from `first` on are verified as they are read. */
  receive(frame: EventsFrame, first: number): void {
    this.#events += frame.count - first;
    this.#bytes += frame.end - frame.start;
    const { seq, epoch, producer, parameters, token, isSync } = frame;
    const writer = this.#reader.writerOf(token);
    const mismatch = this.#reader.mismatchOf(token, writer, producer);
    if (mismatch !== undefined) return this.#discard(frame, first, mismatch);
    const versions = this.#objects === NO_OBJECTS ? NO_VERSIONS : new Versions(this.#objects, frame.versions);
    const by = this.#session.producers.of(frame.channel, producer);
    const source = this.#sources.of(frame);
    source?.begin(frame);
    const traced = this.#tracing === undefined ? undefined : source?.traced(this.channel);
    for (let i = first; i < frame.count && !this.#isClosed; i++) {
      const info = { seq: seq && seq + i, epoch, producer, by, parameters, versions, type: writer };
      this.#goesBehind(frame, i);
      source?.handled(i);
      const awaited = isSync ? awaitedEvent(frame, i) : undefined;
      try {
        const event = this.#reader.read(frame, i, token, writer);
        const handling =
          traced === undefined ? this.#hand(event, info) : this.#handTraced(event, info, traced(i));
        if (handling !== undefined) this.#wait(handling, awaited);
        else if (awaited !== undefined) this.#handling.end(awaited);
      } catch (error) {
        this.#failed(error, awaited);
      }
    }
  }

  /** The consumer's place is behind this event of a run, unless that is urgent: it may have passed others, which are still to come. */
  #goesBehind({ epoch, seq, isUrgent }: EventsFrame, i: number): void {
    if (seq === 0 || (isUrgent && this.#seq > 0)) return;
    this.#epoch = epoch;
    this.#seq = seq + i;
  }

  /** Discards events of a type that this consumer cannot read: the consumer goes on behind them, and nobody waits for them. */
  #discard(frame: EventsFrame, first: number, mismatch: Mismatch): void {
    const { count, isSync } = frame;
    if (first < count) this.#goesBehind(frame, count - 1);
    const source = this.#sources.of(frame);
    source?.begin(frame);
    source?.handled(count - 1);
    if (isSync) for (let i = first; i < count; i++) this.#handling.discard(awaitedEvent(frame, i));
    if (mismatch.isTold) return;
    mismatch.isTold = true;
    this.#onError(mismatch.error);
  }

  #failed(error: unknown, awaited: AwaitedEvent | undefined): void {
    const errors = error instanceof Failures ? error.errors : [error];
    const failed = errors.map(one => JechoError.from(one, "HANDLER_FAILED"));
    if (awaited !== undefined) this.#handling.end(awaited, failed[0]);
    for (const one of failed) this.#onError(one);
  }

  #wait(handling: Promise<unknown>, awaited: AwaitedEvent | undefined): void {
    this.#handling.wait(
      handling.then(
        () => {
          if (awaited !== undefined) this.#handling.end(awaited);
        },
        (error: unknown) => this.#failed(error, awaited),
      ),
    );
  }

  #handTraced(event: unknown, info: EventInfo, traced: TracedEvent): Promise<unknown> | undefined {
    const hand = (traceId: string | undefined) =>
      this.#hand(event, traceId === undefined ? info : { ...info, traceId });
    return this.#tracing?.delivered(traced, hand);
  }

  #hand(event: unknown, info: EventInfo): Promise<unknown> | undefined {
    if (this.#demodulator === undefined) return promiseOf(this.#handler(event as T, info));
    const { results, failures } = demodulate(this.#demodulator, event, this.#reader.source);
    const hand = (result: unknown): unknown =>
      this.#isClosed ? undefined : this.#handler(result as T, info);
    return handAll(results, hand, failures);
  }
}

function awaitedEvent({ channel, producer, raised }: EventsFrame, i: number): AwaitedEvent {
  return { channel, producer, raised: raised + i };
}

/** Whether it is the name of a derived channel, in full. */
function isDerived(channel: string): boolean {
  return splitName(parseChannelName(channel).name).derived !== "";
}
