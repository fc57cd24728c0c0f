import type { Demodulator, EventSource } from "@jecho/modulators";
import { JechoError, type Type } from "@jecho/shared";
import type { EventsFrame, VerifyEvent } from "@jecho/shared/internal";
import { ByEvent } from "./by-event.ts";
import type { EventChannel } from "./channel.ts";
import type { Codec } from "./json.ts";
import type { Placement } from "./placement.ts";
import type { PortNotice } from "./port.ts";
import type { EagerHandler, Session } from "./session.ts";
import { Listeners, raise, type Status, statusNow } from "./status.ts";
import { NOBODY } from "./tally.ts";

/** An event's place in its channel: a sequence number, and which numbering that belongs to. */
export interface EventPlace {
  readonly epoch: number;
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
  /** What the event was written as; undefined on an untyped channel. Its fields can be listed, whatever the consumer expects. */
  readonly type: Type | undefined;
}

/** Gets each event. Where it returns a promise, a synchronous event counts as handled when that is fulfilled. */
export type Handler<T> = (event: T, info: EventInfo) => unknown;

/** Events that will not come. */
export interface Missed {
  readonly events: number;
  /** So many of them were dropped because this consumer's process did not keep up; the others were lost on the way. */
  readonly dropped: number;
}

/** What the gateway does with events that a consumer's process has no room for. */
export interface QueueOptions {
  /**
   * - `drop-oldest`, the default: the oldest go
   * - `latest`: of each value of the channel's key only the newest waits, or of all where it has no key
   * - `disconnect`: the consumer is cut off with `SLOW_CONSUMER`, and comes back as after a lost connection
   * - `block`: the producers wait; for pipelines, where all agree to that
   *
   * Consumers of one channel in one process share a queue; the policy holds that keeps most.
   */
  readonly whenFull?: "drop-oldest" | "latest" | "disconnect" | "block";
  /** Bytes that may wait; the gateway's own limit (8 MiB unless it says otherwise) by default and at most. */
  readonly limitBytes?: number;
}

export interface ConsumerOptions {
  /** Gets what goes wrong with single events; by default it is thrown as an uncaught error. */
  readonly onError?: (error: JechoError) => void;
  /** Is told of events that will not come, before the next one that does. */
  readonly onMissed?: (missed: Missed) => void;
  readonly queue?: QueueOptions;
  /** Handlers' promises that may be under way before the gateway is asked to wait; 1,024 by default. */
  readonly inboxEvents?: number;
}

export interface ResetOptions {
  /** Wait until no event of the old pair is under way, too; false by default. */
  readonly sync?: boolean;
}

const INBOX_EVENTS = 1024;

/** Receives the events of a channel, or of the channel that its modulator derives. Made by `channel.subscribe`. */
export class Consumer<T> {
  readonly channel: string;
  readonly #session: Session;
  readonly #endpoint: number;
  readonly #type: Type<T> | undefined;
  readonly #codec: Codec<T> | undefined;
  /** Types of writers that this consumer cannot read: told once, and their events dropped. */
  readonly #mismatched = new Set<bigint>();
  readonly #handler: Handler<T>;
  readonly #onError: (error: JechoError) => void;
  readonly #onMissed: (missed: Missed) => void;
  readonly #inboxEvents: number;
  readonly #statusListeners = new Listeners<Status>();
  readonly #resets = new Map<
    number,
    { pair: EagerHandler; sync: boolean; resolve: () => void; reject: (error: JechoError) => void }
  >();
  readonly #source: EventSource = { decode: (token, bytes) => this.#decode(token, bytes) };
  #modulated: boolean;
  #demodulator: Demodulator | undefined;
  /** Synchronous events that the handler is at. */
  readonly #handling = new ByEvent<true>();
  /** Handlers' promises under way. */
  readonly #underWay = new Set<Promise<void>>();
  #isPaused = false;
  #place: EventPlace | undefined;
  #placements: readonly Placement[] = [];
  readonly #placementListeners = new Listeners<readonly Placement[]>();
  #missed = 0;
  #dropped = 0;
  #status: Status = statusNow("connecting");
  #events = 0;
  #bytes = 0;
  #nextReset = 1;

  constructor(
    session: Session,
    endpoint: number,
    channel: EventChannel<T>,
    handler: Handler<T>,
    pair: EagerHandler,
    options: ConsumerOptions,
  ) {
    this.#session = session;
    this.#endpoint = endpoint;
    this.channel = channel.name;
    this.#type = channel.type;
    this.#codec = channel.codec;
    this.#handler = handler;
    this.#modulated = pair.modulator !== undefined;
    this.#demodulator = pair.demodulator;
    this.#onError = options.onError ?? raise;
    this.#onMissed = options.onMissed ?? (() => {});
    this.#inboxEvents = Math.max(1, options.inboxEvents ?? INBOX_EVENTS);
  }

  get status(): Status {
    return this.#status;
  }

  /** Of the newest event that came over the wire; undefined before any. */
  get place(): EventPlace | undefined {
    return this.#place;
  }

  /**
   * Where the modulator runs, for the producers of each process, and why it does not run with them where it does not. Empty
   * without a modulator, and while nobody produces.
   */
  get placements(): readonly Placement[] {
    return this.#placements;
  }

  /** Calls back when that changes; returns what stops it. */
  onPlacements(listener: (placements: readonly Placement[]) => void): () => void {
    return this.#placementListeners.add(listener);
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
   * first of the new one. An event that is raised while they change may come of both, or of neither. Resolves when the new modulator is
   * installed in every producer and in force; with `sync`, when in addition no event of the old pair is under way any more: the
   * promises that the handler returned for them are settled.
   *
   * @throws JechoError the reason why the installation failed; the old pair goes on then
   */
  reset(pair: EagerHandler, { sync = false }: ResetOptions = {}): Promise<void> {
    if (this.#status.state === "closed" || this.#status.state === "refused") {
      return Promise.reject(
        new JechoError("CLOSED", `the consumer of ${this.channel} is ${this.#status.state}`),
      );
    }
    const reset = this.#nextReset++;
    return new Promise((resolve, reject) => {
      this.#resets.set(reset, { pair, sync, resolve, reject });
      this.#session.resetConsumer(this.#endpoint, reset, pair);
    });
  }

  /**
   * Replaces the label, the application's own word for this subscription, for the device that it may be handed to.
   *
   * @throws JechoError `ARGUMENT_INVALID` with more than 1,024 characters
   */
  relabel(label: string): void {
    this.#session.relabel(this.#endpoint, label);
  }

  /** Leaves the channel; the handler is not called again. */
  close(): Promise<void> {
    if (this.#status.state !== "closed") {
      this.#session.closeEndpoint(this.#endpoint);
      this.#end(statusNow("closed"));
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For the session: what the concentrator tells of this endpoint. */
  notice(notice: PortNotice): void {
    if (this.#status.state === "closed") return;
    switch (notice.is) {
      case "opened":
        this.#opened(notice);
        break;
      case "refused":
        this.#refused(notice.reset, notice.error);
        break;
      case "interrupted":
        this.#setStatus(statusNow("reconnecting"));
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
  }: Extract<PortNotice, { is: "opened" }>): void {
    this.#mismatched.clear();
    this.#placements = placements;
    for (const [number, { pair, sync, resolve }] of this.#resets) {
      if (number > reset) continue;
      // A newer reset that is in force answers the older ones too.
      this.#resets.delete(number);
      if (number === reset) {
        this.#modulated = pair.modulator !== undefined;
        this.#demodulator = pair.demodulator;
      }
      if (sync) void Promise.all(this.#underWay).then(resolve);
      else resolve();
    }
    this.#setStatus({
      ...statusNow("live"),
      ...(replays && { replaying: true }),
      ...(recovered !== undefined && { recovered }),
      ...(missing !== undefined && { missing }),
    });
  }

  #refused(reset: number, error: JechoError): void {
    const asked = this.#resets.get(reset);
    this.#resets.delete(reset);
    asked?.reject(error);
    if (asked === undefined || this.#status.state !== "live") this.#end(statusNow("refused", error));
  }

  #end(status: Status): void {
    const error = status.error ?? new JechoError("CLOSED", `the consumer of ${this.channel} was closed`);
    for (const { reject } of this.#resets.values()) reject(error);
    this.#resets.clear();
    // Nobody is to wait for a consumer that has gone.
    for (const [channel, producer, raised] of this.#handling.entries())
      this.#session.handled({ endpoint: this.#endpoint, channel, producer, raised, outcome: NOBODY });
    this.#handling.clear();
    this.#setStatus(status);
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#statusListeners.tell(status);
  }

  /** For the session: a run of events, verified, from its event `first` on. */
  receive(frame: EventsFrame, first: number): void {
    this.#events += frame.count - first;
    this.#bytes += frame.end - frame.start;
    const { channel, seq, epoch, producer, raised, parameters, token, isSync } = frame;
    const writer = token === 0n ? undefined : this.#session.writtenType(token);
    for (let i = first; i < frame.count && this.#status.state !== "closed"; i++) {
      const info = { seq: seq === 0 ? 0 : seq + i, epoch, producer, parameters, type: writer };
      if (seq !== 0) this.#place = info;
      if (isSync) this.#handling.set(channel, producer, raised + i, true);
      if (this.#mismatched.size > 0 && this.#mismatched.has(token)) {
        if (isSync) this.#handled(channel, producer, raised + i, new JechoError("TYPE_MISMATCH"));
        continue;
      }
      try {
        const handling = this.#hand(this.#read(frame, i, token, writer), info);
        if (handling !== undefined) this.#wait(handling, isSync, channel, producer, raised + i);
        else if (isSync) this.#handled(channel, producer, raised + i);
      } catch (error) {
        this.#failed(error, isSync, channel, producer, raised + i);
      }
    }
  }

  #failed(error: unknown, isSync: boolean, channel: number, producer: number, raised: number): void {
    const failed = JechoError.from(error ?? new JechoError("HANDLER_FAILED"));
    if (isSync) this.#handled(channel, producer, raised, failed);
    this.#onError(failed);
  }

  /** Where too many handlers are under way, more events wait at the gateway. */
  #wait(
    handling: Promise<unknown>,
    isSync: boolean,
    channel: number,
    producer: number,
    raised: number,
  ): void {
    const handled = handling.then(
      () => {
        if (isSync) this.#handled(channel, producer, raised);
      },
      (error: unknown) => this.#failed(error, isSync, channel, producer, raised),
    );
    this.#underWay.add(handled);
    if (this.#underWay.size >= this.#inboxEvents) this.#pause(true);
    void handled.finally(() => {
      this.#underWay.delete(handled);
      if (this.#underWay.size * 2 <= this.#inboxEvents) this.#pause(false);
    });
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused || this.#status.state === "closed") return;
    this.#isPaused = isPaused;
    this.#session.flow(this.#endpoint, !isPaused);
  }

  #handled(channel: number, producer: number, raised: number, error?: JechoError): void {
    if (!this.#handling.delete(channel, producer, raised)) return;
    const failed = error === undefined ? 0 : 1;
    const outcome = { consumers: 1, failed, message: error?.message ?? "", missing: 0 };
    this.#session.handled({ endpoint: this.#endpoint, channel, producer, raised, outcome });
  }

  #read(frame: EventsFrame, i: number, token: bigint, writer: Type | undefined): unknown {
    const start = frame.eventStart(i);
    const end = frame.eventEnd(i);
    if (token === 0n) return this.#readBytes(frame.bytes.subarray(start, end));
    if (writer === undefined)
      throw new JechoError("TYPE_UNKNOWN", `an event of the unknown type ${token.toString(16)}`);
    // What a modulator makes may be of another type than the channel; its names are its own then.
    const reader = this.#modulated || this.#type === undefined ? writer : (this.#type as Type);
    this.#verifierOf(reader, writer, frame.producer)(frame.view, start, end);
    return reader.readerOf(writer)(frame.view, frame.bytes, start);
  }

  #readBytes(bytes: Uint8Array): unknown {
    if (this.#type !== undefined && !this.#modulated)
      throw new JechoError(
        "TYPE_MISMATCH",
        `untyped bytes on ${this.channel}, where ${this.#type.name} is expected`,
      );
    return this.#codec === undefined || this.#modulated ? bytes : this.#codec.decode(bytes);
  }

  #verifierOf(reader: Type, writer: Type, producer: number): VerifyEvent {
    try {
      return reader.verifierOf(writer);
    } catch (error) {
      this.#mismatched.add(writer.token);
      const { message } = error as Error;
      const sides = `producer ${producer} writes ${nameOf(writer)}, this consumer reads ${nameOf(reader)}`;
      throw new JechoError("TYPE_MISMATCH", `${message} (${this.channel}: ${sides}); its events are dropped`);
    }
  }

  /** An event of the base channel that came inside another. */
  #decode(token: bigint, bytes: Uint8Array): unknown {
    // Vectors in it are views on it, so it begins where they are aligned.
    const own = bytes.slice();
    if (token === 0n) return this.#codec === undefined ? own : this.#codec.decode(own);
    const writer = this.#session.writtenType(token);
    if (writer === undefined)
      throw new JechoError("TYPE_UNKNOWN", `an event of the unknown type ${token.toString(16)}`);
    const reader = (this.#type as Type | undefined) ?? writer;
    const view = new DataView(own.buffer);
    reader.verifierOf(writer)(view, 0, own.byteLength);
    return reader.readerOf(writer)(view, own, 0);
  }

  #hand(event: unknown, info: EventInfo): Promise<unknown> | undefined {
    if (this.#demodulator === undefined) return promiseOf(this.#handler(event as T, info));
    const results: T[] = [];
    try {
      this.#demodulator.push(event, result => results.push(result as T), this.#source);
    } catch (error) {
      throw JechoError.from(error, "DEMODULATOR_FAILED");
    }
    const handling = results
      .map(result => promiseOf(this.#handler(result, info)))
      .filter(promise => promise !== undefined);
    return handling.length === 0 ? undefined : Promise.all(handling);
  }
}

/** What a handler returned, where it is something to wait for. */
function promiseOf(returned: unknown): Promise<unknown> | undefined {
  if (returned instanceof Promise) return returned;
  const isThenable = typeof (returned as PromiseLike<unknown> | undefined)?.then === "function";
  return isThenable ? Promise.resolve(returned) : undefined;
}

/** Types may have one name and differ; tokens do not. */
function nameOf({ name, token }: Type): string {
  return `${name} (${token.toString(16).padStart(16, "0")})`;
}
