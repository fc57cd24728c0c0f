/** One view's own subscription to the field: its shared view, its modulator, and how it is doing. */
import {
  type Consumer,
  type Demodulator,
  diff,
  type EagerHandler,
  type InheritedSubscription,
  JechoError,
  type Session,
  type SharedObject,
  type Status,
  type SubscribeOptions,
  type View,
  viewFilter,
} from "@jecho/client";
import { CHANNELS, GridData } from "../../src/types.ts";
import {
  type FieldEvent,
  type FieldSnapshot,
  type FieldStats,
  type FieldSubscriptionOptions,
  type FieldView,
  type Mode,
  sumOf,
} from "./field-view.ts";
import type { ViewLabel } from "./handed-page.ts";
import { isShown, watchVisibility } from "./page-visibility.ts";
import { SeenSteps } from "./seen-steps.ts";

/** Between two changes of a view that go out: a frame of a smooth drag. */
const PAUSE_MS = 16;
/** A layer that no model has: of a page that nobody sees the modulator lets nothing through. */
const NO_LAYER = { firstLayer: -1, lastLayer: -1 } as const;
/** How far a replay goes back, and how fast it comes. */
export const REPLAY = { seconds: 60, speed: 6 } as const;

/** A consumer behind a subscription: there is another one with each replay and each alarm. */
interface Stream {
  readonly consumer: Consumer<GridData>;
  readonly mode: Mode;
  readonly receiver: Receiver;
  readonly view: SharedObject<FieldView>;
}

/** Calls of a consumer; a newer one has a greater number. */
interface Receiver {
  number: number;
  readonly handler: (event: FieldEvent, info: { readonly parameters: number }) => void;
  readonly options: Pick<SubscribeOptions, "signal" | "queue" | "onError" | "onMissed">;
}

/** Not `useEvents` and `useShared`: its events go to a canvas past React, and consumer and view outlive renderings, modes and replays, or come from another device. */
export class FieldSubscription {
  readonly #session: Session;
  readonly #receive: (event: FieldEvent) => void;
  readonly #onLabel: ((label: string) => void) | undefined;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #seen = new SeenSteps();
  readonly #stopWatching = watchVisibility(() => this.#send());
  #stream: Stream | undefined;
  /** The filter's, while there is an alarm: it gets nothing, and for its sake the gateway keeps what came before. */
  #resting: Stream | undefined;
  #view: SharedObject<FieldView>;
  /** Number of the newest stream that an event came from: older ones are not listened to any more. */
  #heard = 0;
  #streams = 0;
  #gone: FieldStats = sumOf([]);
  #snapshot: FieldSnapshot;
  /** Part of the field that the view looks at while the page is seen. */
  #wanted: View;
  #willSend = false;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #openedAt = 0;
  #lastEventAt = 0;
  #gapMs = 0;
  #viewChangedAt = 0;
  #latestMode: Mode;
  /** Label of this view, besides its mode. */
  #about: ViewLabel | undefined;
  #toldLabel = "";
  /** How much was missed when the connection was lost, until events come again. */
  #missedBefore: number | undefined;

  /** Opens in the background. */
  constructor(session: Session, { view, mode, receive, onLabel, inherited }: FieldSubscriptionOptions) {
    this.#session = session;
    this.#receive = receive;
    this.#onLabel = onLabel;
    const handed = inherited?.objects["view"] as SharedObject<FieldView> | undefined;
    this.#wanted = view;
    this.#view = handed ?? session.share<FieldView>(this.#seenView());
    this.#latestMode = mode;
    this.#snapshot = {
      status: { state: "connecting", since: Date.now() },
      mode,
      isChanging: false,
      isReplay: false,
      resumed: undefined,
      placements: [],
      fault: undefined,
    };
    void this.#begin(mode, handed && inherited);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): FieldSnapshot => this.#snapshot;

  /** The master copy of what the view looks at: nothing while the page is hidden. */
  get view(): SharedObject<FieldView> {
    return this.#view;
  }

  get stats(): FieldStats {
    const open = [this.#stream, this.#resting].flatMap(stream => stream ?? []);
    return sumOf([this.#gone, ...open.map(({ consumer }) => consumer.stats)]);
  }

  /** Bytes that came over the wire for this view. */
  get bytes(): number {
    return this.stats.bytes;
  }

  /** The steps whose events came, in their order. */
  get seen(): SeenSteps {
    return this.#seen;
  }

  /** `Date.now()` of the newest event; 0 before any. */
  get lastEventAt(): number {
    return this.#lastEventAt;
  }

  /** How long after the step before it the newest one came; 0 before there are two. */
  get gapMs(): number {
    return this.#gapMs;
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
    this.#wanted = { ...this.#wanted, ...patch };
    if (this.#willSend) return;
    this.#willSend = true;
    if (this.#pause === undefined) queueMicrotask(() => this.#sendChange());
  }

  #seenView(): View {
    return isShown() ? this.#wanted : { ...this.#wanted, ...NO_LAYER };
  }

  /** Not tied to animation frames: where drawing is slow, asking for the next picture must not wait for the last one. */
  #sendChange(): void {
    if (!this.#willSend || !this.#send()) return;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#sendChange();
    }, PAUSE_MS);
  }

  /** @returns true where that changes anything */
  #send(): boolean {
    const { version } = this.view;
    this.#willSend = false;
    if (!this.#abort.signal.aborted) this.view.update(this.#seenView());
    if (this.view.version === version) return false;
    if (!isShown()) this.#viewChangedAt = 0;
    else if (this.#viewChangedAt === 0) this.#viewChangedAt = Date.now();
    return true;
  }

  /** Notes what another device needs besides the view and the mode, should it take this view over: plain data. */
  describe(about: ViewLabel): void {
    this.#about = about;
    this.#relabel();
  }

  #relabel(): void {
    const label = this.#label;
    if (label === this.#toldLabel || this.#stream === undefined) return;
    this.#toldLabel = label;
    this.#stream.consumer.relabel(label);
    this.#onLabel?.(label);
  }

  get #label(): string {
    return JSON.stringify({ ...this.#about, mode: this.#latestMode });
  }

  /** Replaces the modulator in the running subscription; where that fails, the old one goes on and `fault` says why. */
  async setMode(mode: Mode): Promise<void> {
    this.#latestMode = mode;
    // What is on its way is followed by the newest mode.
    if (this.#stream === undefined || this.#snapshot.isChanging) return;
    const stream = this.#stream;
    const { isReplay } = this.#snapshot;
    await this.#change(async () => {
      const { consumer: resting } = this.#resting ?? {};
      const canWake = resting !== undefined && !["refused", "closed"].includes(resting.status.state);
      if (mode.kind === "filter" && this.#resting !== undefined && canWake) this.#wake(this.#resting, mode);
      else if (mode.kind === "alarm" && stream.mode.kind === "filter" && !isReplay) await this.#raise(mode);
      else {
        const { consumer } = stream;
        await consumer.reset(this.#pair(mode, stream.view));
        this.#stream = { ...stream, mode };
        this.#relabel();
        this.#set({ mode, isReplay: false, placements: consumer.placements });
      }
    });
  }

  /** An alarm beside the filter, which rests meanwhile: ended, it would have no past to be replayed. */
  async #raise(mode: Mode): Promise<void> {
    const filter = this.#stream;
    const view = this.#session.share<FieldView>(this.#seenView());
    const receiver = this.#receiver();
    try {
      await this.#open(mode, view, receiver, {});
    } catch (error) {
      void view.close();
      throw error;
    }
    this.#resting = filter;
    filter?.view.update(NO_LAYER);
    // The view was changed meanwhile, perhaps, and the alarm's copy not yet.
    this.#send();
    // Another device would take it for a view.
    filter?.consumer.relabel("");
  }

  /** The filter again, in the place of the alarm. */
  #wake(filter: Stream, mode: Mode): void {
    const alarm = this.#stream;
    this.#resting = undefined;
    filter.receiver.number = ++this.#streams;
    this.#enter({ ...filter, mode });
    this.#send();
    if (alarm === undefined) return;
    this.#end(alarm);
    void alarm.view.close();
  }

  /** Shows what was sent for this view in the last seconds again, and then goes on live without a gap. */
  replay(): Promise<void> {
    const from = new Date(Date.now() - REPLAY.seconds * 1000);
    return this.#change(() => this.#exchange({ from, speed: REPLAY.speed }));
  }

  /** Ends a replay at once. */
  async goLive(): Promise<void> {
    if (!this.#snapshot.isReplay) return;
    await this.#change(() => this.#exchange({}));
    this.#wantWhole();
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#stopWatching();
    this.#abort.abort();
    void this.#view.close();
    void this.#resting?.view.close();
  }

  async #begin(mode: Mode, inherited: InheritedSubscription | undefined): Promise<void> {
    try {
      await (inherited === undefined ? this.#exchange({}) : this.#takeOver(mode, inherited));
      await this.#catchUp();
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#set({ status: { state: "refused", since: Date.now(), error: JechoError.from(error) } });
    }
  }

  async #takeOver(mode: Mode, inherited: InheritedSubscription): Promise<void> {
    const receiver = this.#receiver();
    const { handler, options } = receiver;
    const { demodulator } = this.#pair(mode, this.#view);
    const consumer = await inherited.takeOver(handler, { ...options, type: GridData, demodulator });
    this.#enter({ consumer, mode, receiver, view: this.#view });
    this.#watch(consumer);
    this.#wantWhole();
  }

  /** One thing at a time; what was wanted in the meantime follows. */
  async #change(change: () => Promise<void>): Promise<void> {
    if (this.#stream === undefined || this.#snapshot.isChanging) return;
    this.#set({ isChanging: true, fault: undefined });
    const wanted = this.#latestMode;
    try {
      await change();
    } catch (error) {
      if (this.#latestMode === wanted) this.#latestMode = this.#snapshot.mode;
      if (!this.#abort.signal.aborted) this.#set({ fault: JechoError.from(error) });
    } finally {
      this.#set({ isChanging: false });
    }
    await this.#catchUp();
  }

  /** The mode may have been changed while something else was under way. */
  async #catchUp(): Promise<void> {
    if (this.#stream !== undefined && this.#latestMode !== this.#stream.mode)
      await this.setMode(this.#latestMode);
  }

  /** Another consumer in place of the present one, which goes last: so the derived channel and its history stay. */
  async #exchange(begin: Pick<SubscribeOptions, "from" | "speed">): Promise<void> {
    const mode = this.#stream?.mode ?? this.#latestMode;
    const old = this.#stream;
    await this.#open(mode, this.#view, this.#receiver(), begin);
    if (old !== undefined) this.#end(old);
  }

  async #open(
    mode: Mode,
    view: SharedObject<FieldView>,
    receiver: Receiver,
    begin: Pick<SubscribeOptions, "from" | "speed">,
  ): Promise<void> {
    const { handler, options } = receiver;
    const consumer = await this.#session
      .channel(CHANNELS.ozone, GridData)
      .subscribe(handler, { ...this.#pair(mode, view), ...options, ...begin, label: this.#label });
    this.#enter({ consumer, mode, receiver, view });
    this.#watch(consumer);
  }

  /** Closes a stream; its counts stay. */
  #end({ consumer }: Stream): void {
    const { stats } = consumer;
    this.#gone = sumOf([this.#gone, stats]);
    void consumer.close();
  }

  /** Receiver for a new consumer: from its first event on, or once it is open, the older ones are not heard any more. */
  #receiver(): Receiver {
    const receiver: Receiver = {
      number: ++this.#streams,
      handler: (event, { parameters }) => {
        if (receiver.number < this.#heard) return;
        this.#heard = receiver.number;
        this.#hear(event.step);
        if (parameters >= this.view.version) this.#viewChangedAt = 0;
        this.#seen.add(event.step, event.layer);
        this.#sayResumed();
        this.#receive(event);
      },
      options: {
        signal: this.#abort.signal,
        // Of a field that is late nobody wants any picture but the newest.
        queue: { whenFull: "latest" },
        onError: fault => this.#set({ fault }),
        onMissed: () => this.#wantWhole(),
      },
    };
    return receiver;
  }

  #enter(stream: Stream): void {
    const { consumer, mode, view } = stream;
    this.#stream = stream;
    this.#view = view;
    this.#heard = this.#streams;
    this.#openedAt = Date.now();
    // What a replay says for itself is no news of a lost connection.
    this.#missedBefore = undefined;
    this.#toldLabel = "";
    this.#relabel();
    const { status, placements } = consumer;
    this.#set({ status, mode, isReplay: status.replaying ?? false, placements });
  }

  #watch(consumer: Consumer<GridData>): void {
    consumer.onStatus(status => this.#follow(consumer, status));
    consumer.onPlacements(placements => {
      if (consumer === this.#stream?.consumer) this.#set({ placements });
    });
  }

  #follow(consumer: Consumer<GridData>, status: Status): void {
    if (consumer !== this.#stream?.consumer) return;
    const before = this.#snapshot.status;
    if (status.state === "reconnecting") this.#missedBefore ??= this.stats.missed;
    if (status.state === "live" && before.state !== "live") this.#openedAt = Date.now();
    const isOver = this.#snapshot.isReplay && status.replaying !== true;
    if (isOver) this.#wantWhole();
    const { placements } = consumer;
    this.#set({ status, isReplay: this.#snapshot.isReplay && !isOver, placements });
  }

  #hear(step: number): void {
    const now = Date.now();
    if (step !== this.#seen.last && this.#lastEventAt > 0) this.#gapMs = now - this.#lastEventAt;
    this.#lastEventAt = now;
  }

  /** The first event after a lost connection: what did not come is known now. */
  #sayResumed(): void {
    if (this.#missedBefore === undefined || this.#snapshot.status.state !== "live") return;
    const { firstLayer, lastLayer } = this.#wanted;
    const missedSteps = Math.ceil((this.stats.missed - this.#missedBefore) / (lastLayer - firstLayer + 1));
    this.#missedBefore = undefined;
    this.#set({ resumed: { at: Date.now(), missedSteps } });
  }

  /** Changed cells say nothing to who does not have what they changed. */
  #wantWhole(): void {
    if (this.#latestMode.kind === "alarm") this.view.update({ refresh: (this.view.state.refresh ?? 0) + 1 });
  }

  #pair(mode: Mode, view: SharedObject<FieldView>): EagerHandler {
    if (mode.kind === "filter") return viewFilter(view, { packed: true });
    const { modulator, demodulator } = diff(view, mode.threshold);
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
