/** Any channel's events, whatever their type: the newest of them, and how its numbers went. */
import { type FieldInfo, JechoError, type Session, type Status, type Type, unpack } from "@jecho/client";
import { isShown, watchVisibility } from "../page-visibility.ts";
import { rowsOfUntyped } from "./untyped.ts";

/** One field of the newest event; of a nested table, or of an object in JSON, each of its own. */
export interface Row {
  /** `OUTER.FIELD` of a nested one. */
  readonly path: string;
  /** The field's type as schemas write it; without a type "JSON", "text" or "bytes". */
  readonly written: string;
  readonly value: unknown;
  /** Name of an enum's value. */
  readonly name: string | undefined;
}

export interface FeedSnapshot {
  readonly status: Status;
  readonly type: Type | undefined;
  readonly rows: readonly Row[];
  readonly events: number;
  /** `Date.now()` of the newest event; 0 before any. */
  readonly receivedAt: number;
  readonly perSecond: number;
  readonly fault: JechoError | undefined;
}

/** A number over time, as two columns of equal length. */
export interface Series {
  readonly times: readonly number[];
  readonly values: readonly number[];
}

/** People read no faster. */
const TELL_MS = 100;
const MOST_POINTS = 1200;
const DEEPEST = 3;
/** Numbers whose past is kept: whoever raises JSON may name as many as he likes. */
const MOST_SERIES = 500;
const RATE_MS = 3000;

/** Not `useEvents`: what is drawn is the past of every number, which grows outside of React and is told at the pace of readers. */
export class ChannelFeed {
  readonly name: string;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #stopWatching = watchVisibility(() => this.#tell());
  readonly #series = new Map<string, { times: number[]; values: number[] }>();
  /** Events of the last seconds, together where they came within one telling. */
  #arrivals: { readonly at: number; events: number }[] = [];
  #status: Status = { state: "connecting", since: Date.now() };
  #type: Type | undefined;
  #rows: readonly Row[] = [];
  #events = 0;
  #receivedAt = 0;
  #fault: JechoError | undefined;
  #told: FeedSnapshot = this.#look();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: Session, name: string) {
    this.name = name;
    void this.#open(session);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** For rendering: changes at most ten times a second, and only while the page is seen; events are noted all the time. */
  readonly snapshot = (): FeedSnapshot => this.#told;

  /** How the number at this path went; it grows while events come. */
  series(path: string): Series | undefined {
    return this.#series.get(path);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stopWatching();
    this.#abort.abort();
  }

  async #open(session: Session): Promise<void> {
    const { signal } = this.#abort;
    try {
      const onError = (error: JechoError): void => {
        this.#fault = error;
        this.#tellSoon();
      };
      const open = (place: { from?: "last" }) =>
        session
          .channel(this.name)
          .subscribe((event, { type }) => this.#receive(event, type), { ...place, signal, onError });
      // The newest event that is kept comes at once, however seldom one is raised; who may not read what is kept sees the next.
      const consumer = await open({ from: "last" }).catch(error => {
        if (JechoError.from(error).code !== "RIGHT_MISSING") throw error;
        return open({});
      });
      this.#setStatus(consumer.status);
      consumer.onStatus(status => this.#setStatus(status));
    } catch (error) {
      if (!signal.aborted)
        this.#setStatus({ state: "refused", since: Date.now(), error: JechoError.from(error) });
    }
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#tellSoon();
  }

  #receive(event: unknown, type: Type | undefined): void {
    const now = Date.now();
    this.#type = type;
    this.#events++;
    this.#receivedAt = now;
    this.#count(now);
    this.#rows =
      event instanceof Uint8Array ? rowsOfUntyped(event) : rowsOf(unpack(event), type?.fields ?? []);
    for (const { path, value } of this.#rows) {
      if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean")
        this.#note(path, now, Number(value));
    }
    this.#tellSoon();
  }

  #count(now: number): void {
    const newest = this.#arrivals.at(-1);
    if (newest !== undefined && now - newest.at < TELL_MS) newest.events++;
    else this.#arrivals = [...this.#arrivals.filter(({ at }) => now - at < RATE_MS), { at: now, events: 1 }];
  }

  #note(path: string, at: number, value: number): void {
    let series = this.#series.get(path);
    if (series === undefined) {
      if (this.#series.size === MOST_SERIES) return;
      series = { times: [], values: [] };
      this.#series.set(path, series);
    }
    series.times.push(at);
    series.values.push(value);
    if (series.times.length < 2 * MOST_POINTS) return;
    series.times.splice(0, MOST_POINTS);
    series.values.splice(0, MOST_POINTS);
  }

  #look(): FeedSnapshot {
    const now = Date.now();
    const recent = this.#arrivals.filter(({ at }) => now - at < RATE_MS);
    return {
      status: this.#status,
      type: this.#type,
      rows: this.#rows,
      events: this.#events,
      receivedAt: this.#receivedAt,
      perSecond: (1000 * recent.reduce((sum, { events }) => sum + events, 0)) / RATE_MS,
      fault: this.#fault,
    };
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tell();
    }, TELL_MS);
  }

  #tell(): void {
    if (!isShown()) return;
    this.#told = this.#look();
    for (const listener of this.#listeners) listener();
  }
}

function rowsOf(event: unknown, fields: readonly FieldInfo[], before = "", depth = 0): Row[] {
  return fields.flatMap(field => {
    const value = (event as Record<string, unknown> | undefined)?.[field.name];
    const path = `${before}${field.name}`;
    const isNested = (field.kind === "table" || field.kind === "struct") && !field.isVector;
    if (isNested && value !== undefined && depth < DEEPEST)
      return rowsOf(value, field.fields, `${path}.`, depth + 1);
    const name = typeof value === "number" ? field.names?.get(BigInt(value)) : undefined;
    return [{ path, written: field.written, value, name }];
  });
}
