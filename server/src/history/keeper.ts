import type { Type } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import type { Channel } from "../delivery/channel.ts";
import type { WrittenTypes } from "../management/types.ts";
import { type Retention, UNBOUNDED } from "./event-log.ts";
import { History, type HistoryBudget } from "./history.ts";
import type { HistoryStore } from "./store.ts";
import type { Stored } from "./stored.ts";

/** Options for a gateway's histories. */
export interface Keeping {
  /** Most bytes of kept events of one channel. */
  readonly historyBytes: number;
  /** Milliseconds for which producers go on sending for a consumer that was cut off. */
  readonly resumeWindowMs: number;
  /** Milliseconds until a silently broken connection is noticed: events of that time are kept for its return. */
  readonly unnoticedMs: number;
  readonly store: HistoryStore | undefined;
  /** The bound of all channels together. */
  readonly budget: HistoryBudget;
}

/** Most bytes kept of a channel without history for consumers that are cut off, noticed or not. */
const TRANSIENT_BYTES = 8 << 20;

/** Keeps one channel's events, and those of its derived channels. */
export class HistoryKeeper {
  readonly #name: string;
  readonly #keeping: Keeping;
  readonly #types: WrittenTypes;
  #retention: Retention | undefined;
  /** Name of the key field, where the newest event of each key matters. */
  #key = "";

  /** @param name the channel's */
  constructor(name: string, keeping: Keeping, types: WrittenTypes) {
    this.#name = name;
    this.#keeping = keeping;
    this.#types = types;
  }

  /** Whether a history was requested. */
  get isAsked(): boolean {
    return this.#retention !== undefined;
  }

  /** Restores what an earlier gateway kept of the channel. */
  restore(channel: Channel): void {
    const stored = this.#keeping.store?.load(this.#name);
    if (stored === undefined) return;
    for (const type of stored.types) this.#types.remember(type);
    this.ask({ ...stored.retention, bytes: this.#keeping.historyBytes }, stored.retention.key);
    this.#beginAsked(channel, this.#name, stored);
  }

  /** Requests a history of at least this much from now on. @returns false where that is nothing */
  ask(wanted: Retention | undefined, key: string): boolean {
    if (key !== "") this.#key = key;
    if (wanted === undefined) return false;
    const old = this.#retention;
    this.#retention = {
      events: Math.max(wanted.events, old?.events ?? 0),
      seconds: Math.max(wanted.seconds, old?.seconds ?? 0),
      bytes: wanted.bytes,
      latest: wanted.latest || (old?.latest ?? false),
      key: this.#key,
      durable: wanted.durable || (old?.durable ?? false),
    };
    return true;
  }

  /** The history's store; undefined where it is only in memory. */
  get #store(): HistoryStore | undefined {
    const { store } = this.#keeping;
    return store?.isForDurable === true && this.#retention?.durable !== true ? undefined : store;
  }

  /**
   * Begins a channel's history, or extends it, as requested.
   *
   * @param derived undefined for the channel itself
   * @param isNew whether the channel is new
   * @returns whether an earlier gateway kept something of it
   */
  keep(channel: Channel, derived: { readonly key: string } | undefined, isNew = false): boolean {
    if (this.#retention === undefined) return false;
    const { history } = channel;
    if (history !== undefined && !history.isTransient) {
      history.log.retention = this.#retention;
      if (!history.isStored) this.#keepIn(this.#store, channel, history);
      return false;
    }
    const name = derived === undefined ? this.#name : `${this.#name} ${derived.key}`;
    // Numbers given before would be given twice.
    if (!isNew) this.#store?.forget(name);
    const stored = isNew ? this.#store?.load(name) : undefined;
    this.#beginAsked(channel, name, stored);
    if (history !== undefined) channel.history?.takeOver(history.log);
    return stored !== undefined;
  }

  #beginAsked(channel: Channel, name: string, stored: Stored | undefined): void {
    if (this.#retention === undefined) return;
    if (stored?.nextSeq !== undefined) channel.nextSeq = stored.nextSeq;
    const history = this.#begin(channel, name, this.#retention, stored);
    channel.lanes.restore(history.sources());
    this.#keepIn(this.#store, channel, history);
  }

  /** Stores the history from now on. */
  #keepIn(store: HistoryStore | undefined, { epoch, nextSeq: firstSeq }: Channel, history: History): void {
    if (store === undefined) return;
    history.keepIn(store, { epoch, firstSeq });
    for (const { token, schema } of this.#types.present()) history.addType(token, schema);
  }

  /** Keeps new events for consumers whose connections break, also without a requested history. */
  keepForReturn(channel: Channel): void {
    const { history } = channel;
    if (history !== undefined && !history.isTransient) return;
    // Connections that are cut silently are noticed within that time.
    const seconds = channel.demand.isExpecting ? Number.POSITIVE_INFINITY : this.#keeping.unnoticedMs / 1000;
    if (seconds === 0) return;
    const bytes = Math.min(this.#keeping.historyBytes, TRANSIENT_BYTES);
    const retention = { ...UNBOUNDED, seconds, bytes };
    if (history === undefined) this.#begin(channel, "", retention);
    else history.log.retention = retention;
  }

  #begin(channel: Channel, name: string, retention: Retention, stored?: Stored): History {
    const present = { epoch: channel.epoch, firstSeq: channel.nextSeq };
    const history = new History(retention, keyer(channel), name, present, stored, this.#keeping.budget);
    channel.history = history;
    if (stored === undefined && channel.nextSeq > 1) history.log.beginsLate();
    return history;
  }

  /** The value of the key field. @param typeOf finds the type with a token */
  keyOf(run: EventsFrame, i: number, typeOf: (token: bigint) => Type | undefined): string {
    const type = this.#key === "" ? undefined : typeOf(run.token);
    if (type === undefined) return "";
    try {
      const [start, end] = [run.eventStart(i), run.eventEnd(i)];
      type.verify(run.view, start, end);
      const event = type.readerOf(type)(run.view, run.bytes, start) as Record<string, unknown>;
      return String(event[this.#key]);
    } catch {
      // Its consumers refuse a broken event; here it is one like any other.
      return "";
    }
  }
}

function keyer({ owner }: Channel): (run: EventsFrame, i: number) => string {
  return (run, i) => owner.keyOf(run, i);
}
