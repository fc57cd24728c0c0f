/** Status that the simulation tells of itself, for all panels. */
import {
  type Status as ChannelStatus,
  type Consumer,
  type InheritedSubscription,
  JechoError,
  type Session,
  unpack,
} from "@jecho/client";
import { CHANNELS, Status } from "../../src/types.ts";
import { isShown, watchVisibility } from "./page-visibility.ts";
import { StepClock } from "./step-clock.ts";
import type { Counted } from "./traffic.ts";

export interface StatusSnapshot {
  readonly channel: ChannelStatus;
  readonly simulation: Status | undefined;
  /** `Date.now()` of the newest event; 0 before any. */
  readonly receivedAt: number;
  /** How long after the event before it that came; 0 before there are two. */
  readonly gapMs: number;
  /** Measured time between steps, where they are made, in milliseconds; undefined before it is known. */
  readonly intervalMs: number | undefined;
  /** `Date.now()` of when it was seen to have begun anew, perhaps where it had been a while before; 0 where it has not. */
  readonly restartedAt: number;
  /** Bytes of the whole field over all steps since the feed heard of the first new one. */
  readonly producedBytes: number;
}

/** People read no faster. */
const TELL_MS = 200;
const SMOOTHING = 0.2;

/** Not `useEvents`: it may go on with what another device handed over, boards read it on their own time, and React is told at the pace of readers. */
export class StatusFeed {
  /** How old steps are. */
  readonly clock = new StepClock();
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #stopWatching = watchVisibility(() => this.#tell());
  #now: StatusSnapshot = {
    channel: { state: "connecting", since: Date.now() },
    simulation: undefined,
    receivedAt: 0,
    gapMs: 0,
    intervalMs: undefined,
    restartedAt: 0,
    producedBytes: 0,
  };
  #told = this.#now;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** On the simulation's clock, for that is not held up on the way. */
  #steppedAt = 0;
  readonly #openedAt = Date.now();
  #consumer: Consumer<Status> | undefined;
  #label: string;

  /**
   * @param label what it is called, for another device
   * @param inherited what another device handed over, to go on with
   */
  constructor(session: Session, label: string, inherited: InheritedSubscription | undefined) {
    this.#label = label;
    void this.#open(session, inherited);
  }

  /** Calls it something else. */
  relabel(label: string): void {
    if (label === this.#label) return;
    this.#label = label;
    this.#consumer?.relabel(label);
  }

  /** Bytes that came for it. */
  get bytes(): number {
    return this.#consumer?.stats.bytes ?? 0;
  }

  /** Bytes that the simulation made meanwhile. */
  readonly produced: Counted = (feed => ({
    get bytes() {
      return feed.current.producedBytes;
    },
  }))(this);

  /** The newest, for those who read on their own time. */
  get current(): StatusSnapshot {
    return this.#now;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** For rendering: changes at most five times a second, and only while the page is seen. */
  readonly snapshot = (): StatusSnapshot => this.#told;

  close(): void {
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.#abort.abort();
  }

  async #open(session: Session, inherited: InheritedSubscription | undefined): Promise<void> {
    const { signal } = this.#abort;
    const receive = (status: Status): void => this.#receive(status);
    const options = { signal, queue: { whenFull: "latest" } } as const;
    try {
      const consumer = await (inherited === undefined
        ? session
            .channel(CHANNELS.status, Status)
            .subscribe(receive, { ...options, label: this.#label, from: "last" })
        : inherited.takeOver(receive, { ...options, type: Status }));
      this.#consumer = consumer;
      consumer.relabel(this.#label);
      this.#set({ channel: consumer.status });
      consumer.onStatus(channel => this.#set({ channel }));
    } catch (error) {
      if (signal.aborted) return;
      this.#set({ channel: { state: "refused", since: Date.now(), error: JechoError.from(error) } });
    }
  }

  #receive(event: Status): void {
    const simulation = unpack(event) as Status;
    const { step, madeAt, speed, paused, bytesPerStep } = simulation;
    const now = Date.now();
    this.clock.heard(step, madeAt, now);
    const before = this.#now.simulation;
    const isAnew = before !== undefined && step < before.step;
    const steps = before === undefined ? 0 : step - (isAnew ? simulation.firstStep : before.step);
    let { intervalMs } = this.#now;
    if (steps > 0) {
      if (this.#steppedAt > 0 && before?.paused === false) {
        const measured = (madeAt - this.#steppedAt) / steps;
        intervalMs = intervalMs === undefined ? measured : intervalMs + SMOOTHING * (measured - intervalMs);
      }
      this.#steppedAt = madeAt;
    }
    // At another speed the old measure says nothing.
    if (before !== undefined && (before.speed !== speed || before.paused !== paused)) {
      intervalMs = undefined;
      this.#steppedAt = 0;
    }
    this.#set({
      simulation,
      receivedAt: now,
      gapMs: before === undefined ? 0 : now - this.#now.receivedAt,
      intervalMs,
      restartedAt: isAnew ? now : this.#now.restartedAt,
      producedBytes: this.#now.producedBytes + this.#heardOf(steps, before, madeAt, now) * bytesPerStep,
    });
  }

  /** How many of the steps since the event before were made while this listened: that event may be an old one that was kept. */
  #heardOf(steps: number, before: Status | undefined, madeAt: number, now: number): number {
    const gapMs = before === undefined ? 0 : madeAt - before.madeAt;
    const heardMs = now - this.#openedAt;
    return gapMs > heardMs ? Math.floor((steps * heardMs) / gapMs) : steps;
  }

  #set(change: Partial<StatusSnapshot>): void {
    const isUrgent =
      change.channel !== undefined ||
      change.simulation?.paused !== this.#told.simulation?.paused ||
      change.simulation?.notice !== this.#told.simulation?.notice;
    this.#now = { ...this.#now, ...change };
    if (isUrgent) this.#tell();
    else this.#timer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!isShown()) return;
    this.#told = this.#now;
    for (const listener of this.#listeners) listener();
  }
}
