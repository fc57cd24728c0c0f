/** One view's own subscription to the field: its shared view, its modulator, and how it is doing. */
import {
  type Consumer,
  type Demodulator,
  diff,
  type EagerHandler,
  JechoError,
  type Session,
  type SharedObject,
  type Status,
  type View,
  viewFilter,
} from "@jecho/client";
import { CHANNELS, GridData } from "../../src/types.ts";

/** Between two changes of a view that go out: a frame of a smooth drag. */
const PAUSE_MS = 16;

/** All values of the window at every step, or only the cells that changed by more than a threshold (ppmv). */
export type Mode = { readonly kind: "filter" } | { readonly kind: "alarm"; readonly threshold: number };

/** An event of the field; in alarm mode with the cells that changed, as row * columns + column. */
export type FieldEvent = GridData & { readonly cells?: Uint32Array | undefined };

export interface FieldSnapshot {
  readonly status: Status;
  /** What is in force in the producers. */
  readonly mode: Mode;
  /** A change of the mode is on its way. */
  readonly isChanging: boolean;
  /** Why the last change of the mode or a single event failed. */
  readonly fault: JechoError | undefined;
}

export class FieldSubscription {
  /** The master copy of what the view looks at. */
  readonly view: SharedObject<View>;
  readonly #session: Session;
  readonly #receive: (event: FieldEvent) => void;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  #consumer: Consumer<GridData> | undefined;
  #snapshot: FieldSnapshot;
  #patch: Partial<View> | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #openedAt = 0;
  #lastEventAt = 0;
  #viewChangedAt = 0;
  #latestMode: Mode;

  /** Opens in the background; `receive` gets every event. */
  constructor(session: Session, initial: View, mode: Mode, receive: (event: FieldEvent) => void) {
    this.#session = session;
    this.#receive = receive;
    this.view = session.share(initial);
    this.#latestMode = mode;
    this.#snapshot = {
      status: { state: "connecting", since: Date.now() },
      mode,
      isChanging: false,
      fault: undefined,
    };
    void this.#open(mode);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): FieldSnapshot => this.#snapshot;

  /** Bytes that came over the wire for this view. */
  get bytes(): number {
    return this.#consumer?.stats.bytes ?? 0;
  }

  get events(): number {
    return this.#consumer?.stats.events ?? 0;
  }

  /** `Date.now()` of the newest event; 0 before any. */
  get lastEventAt(): number {
    return this.#lastEventAt;
  }

  /** Since when events could have come: the modulator is installed. 0 before. */
  get openedAt(): number {
    return this.#openedAt;
  }

  /** Since when a change of the view is not yet answered by an event; 0 where none is. */
  get waitingSince(): number {
    return this.#viewChangedAt;
  }

  /** Changes what is sent: at the end of this turn, or together with what else changes while a drag goes on. */
  update(patch: Partial<View>): void {
    const isFirst = this.#patch === undefined;
    this.#patch = { ...this.#patch, ...patch };
    if (isFirst && this.#pause === undefined) queueMicrotask(() => this.#send());
  }

  /** Not tied to animation frames: where drawing is slow, asking for the next picture must not wait for the last one. */
  #send(): void {
    const { version } = this.view;
    if (!this.#abort.signal.aborted && this.#patch !== undefined) this.view.update(this.#patch);
    this.#patch = undefined;
    if (this.view.version === version) return;
    if (this.#viewChangedAt === 0) this.#viewChangedAt = Date.now();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#send();
    }, PAUSE_MS);
  }

  /** Replaces the modulator in the running subscription; where that fails, the old one goes on and `fault` says why. */
  async setMode(mode: Mode): Promise<void> {
    this.#latestMode = mode;
    if (this.#consumer === undefined) return;
    this.#set({ isChanging: true, fault: undefined });
    try {
      await this.#consumer.reset(this.#pair(mode));
      this.#set({ mode });
    } catch (error) {
      if (this.#latestMode === mode) this.#latestMode = this.#snapshot.mode;
      this.#set({ fault: JechoError.from(error) });
    } finally {
      this.#set({ isChanging: false });
    }
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#abort.abort();
  }

  async #open(mode: Mode): Promise<void> {
    const { signal } = this.#abort;
    try {
      const consumer = await this.#session.channel(CHANNELS.ozone, GridData).subscribe(
        (event, { parameters }) => {
          this.#lastEventAt = Date.now();
          if (parameters >= this.view.version) this.#viewChangedAt = 0;
          this.#receive(event);
        },
        { ...this.#pair(mode), signal, onError: fault => this.#set({ fault }) },
      );
      this.#consumer = consumer;
      this.#openedAt = Date.now();
      this.#set({ status: consumer.status });
      consumer.onStatus(status => {
        if (status.state === "live" && this.#snapshot.status.state !== "live") this.#openedAt = Date.now();
        this.#set({ status });
      });
      // The mode may have been changed while the first one was being installed.
      if (this.#latestMode !== mode) await this.setMode(this.#latestMode);
    } catch (error) {
      if (signal.aborted) return;
      this.#set({ status: { state: "refused", since: Date.now(), error: JechoError.from(error) } });
    }
  }

  #pair(mode: Mode): EagerHandler {
    if (mode.kind === "filter") return viewFilter(this.view);
    const { modulator, demodulator } = diff(this.view, mode.threshold);
    return { modulator, demodulator: demodulator && withCells(demodulator as Demodulator) };
  }

  #set(change: Partial<FieldSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The rebuilt field does not say what changed, the event that it is rebuilt from does. */
function withCells(demodulator: Demodulator): Demodulator {
  return {
    push(change, emit, source) {
      const { cells } = change as { cells: Uint32Array };
      demodulator.push(change, event => emit({ ...(event as GridData), cells }), source);
    },
  };
}
