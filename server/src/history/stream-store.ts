import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { JechoError } from "@jecho/shared";
import type { NatsConnection } from "@nats-io/transport-node";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import { HistoryStream } from "./history-stream.ts";
import type { HistoryStore } from "./store.ts";
import type { Stored } from "./stored.ts";
import { StreamLine } from "./stream-line.ts";
import { RecordReader } from "./stream-records.ts";

/** The gateway's part that a store for a cluster's channels asks, and reports to. */
export interface StreamStoreHost {
  /** Whether this gateway is a member of its cluster. */
  isMember(): boolean;
  /** Whether it is a channel's home. */
  isHome(channel: string): boolean;
  /** Another gateway has written a channel's history: it is its home by now. */
  lost(channel: string): void;
  /** The history of a channel, or of what is derived from it, is not stored any more. */
  failed(channel: string, why: string): void;
  log(line: string): void;
}

/** Bytes that may wait to be stored. A client has at most 4 MiB under way that are not confirmed. */
const MOST_WAITING_BYTES = 64 << 20;
const SUBJECT_LENGTH = 22;
/** Time after which what was derived from a channel, and nobody has come back for, is forgotten. */
const UNCLAIMED_MS = 60_000;
/** Time that a channel's history may take to be read. */
const FETCH_MS = 10_000;

/**
 * Keeps the durable histories of a cluster's channels in JetStream, so that the next home of a channel has them. What comes is handed on at once and stored meanwhile;
 * it is confirmed to its producer when it is stored, who sends it again to the next home otherwise.
 */
export class StreamStore implements HistoryStore {
  readonly isForDurable = true;
  readonly #stream: HistoryStream;
  readonly #host: StreamStoreHost;
  /** By the channel's name, then by that of the channel or a derived one. */
  readonly #lines = new Map<string, Map<string, StreamLine>>();
  /** Records that were read and not asked for yet, likewise. */
  readonly #read = new Map<string, Map<string, RecordReader>>();
  readonly #fetching = new Map<string, Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #waiting = { bytes: 0, most: MOST_WAITING_BYTES };

  private constructor(stream: HistoryStream, host: StreamStoreHost) {
    this.#stream = stream;
    this.#host = host;
  }

  /** @throws JechoError `ARGUMENT_INVALID` where NATS has no stream for it */
  static async open(
    connection: NatsConnection,
    prefix: string,
    replicas: number,
    host: StreamStoreHost,
  ): Promise<StreamStore> {
    const stream = await HistoryStream.open(connection, prefix, replicas).catch((error: Error) => {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `cluster: NATS has no stream for durable histories: ${error.message}`,
      );
    });
    return new StreamStore(stream, host);
  }

  get waitingBytes(): number {
    return this.#waiting.bytes;
  }

  fetch(channel: string): Promise<void> {
    const known = this.#fetching.get(channel);
    if (known !== undefined) return known;
    const fetching = this.#fetch(channel).finally(() => this.#fetching.delete(channel));
    this.#fetching.set(channel, fetching);
    return fetching;
  }

  async #fetch(channel: string): Promise<void> {
    const late = new AbortController();
    const failed = (why: string): JechoError =>
      new JechoError("TIMED_OUT", `the history of ${channel} cannot be read: ${why}`);
    try {
      const isLate = delay(FETCH_MS, undefined, { signal: late.signal }).then(() => {
        throw failed("NATS does not answer");
      });
      await Promise.race([this.#readAll(channel), isLate]);
    } catch (error) {
      throw error instanceof JechoError ? error : failed((error as Error).message);
    } finally {
      late.abort();
    }
    if (!this.#host.isMember() || !this.#host.isHome(channel))
      throw new JechoError("CHANNEL_MOVED", "another gateway is the channel's home by now");
  }

  async #readAll(channel: string): Promise<void> {
    // What was left may be under way still.
    const left = this.#lines.get(channel)?.values() ?? [];
    await Promise.all(Array.from(left, line => line.settled()));
    this.#lines.delete(channel);
    const readers = new Map<string, RecordReader>();
    await this.#stream.read(this.#subjectOf(channel), (subject, seq, message) => {
      const reader = readers.get(subject) ?? new RecordReader();
      readers.set(subject, reader);
      reader.take(seq, message);
    });
    const read = new Map<string, RecordReader>();
    for (const reader of readers.values()) {
      if (reader.card === undefined) continue;
      read.set(reader.card.channel, reader);
      if (reader.damaged > 0)
        this.#host.log(
          `of the stored history of ${reader.card.channel} ${reader.damaged} records cannot be read, and are told to consumers as missing`,
        );
    }
    if (read.size === 0) return;
    this.#read.set(channel, read);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#read.get(channel) === read) this.#unclaimed(channel, read);
    }, UNCLAIMED_MS).unref();
    this.#timers.add(timer);
  }

  #unclaimed(channel: string, read: Map<string, RecordReader>): void {
    this.#read.delete(channel);
    // The channel itself was not opened after all.
    if (!this.#lines.has(channel)) return;
    for (const [name, reader] of read) {
      this.#begin(name, reader, false);
      this.forget(name);
    }
  }

  load(channel: string): Stored | undefined {
    const reader = this.#takeRead(channel);
    if (reader === undefined) return undefined;
    this.#begin(channel, reader, true);
    return reader.stored;
  }

  #takeRead(channel: string): RecordReader | undefined {
    const read = this.#read.get(baseOf(channel));
    const reader = read?.get(channel);
    read?.delete(channel);
    return reader;
  }

  #begin(channel: string, reader: RecordReader | undefined, goesOn: boolean): StreamLine {
    const base = baseOf(channel);
    const host = {
      isMember: () => this.#host.isMember(),
      waiting: this.#waiting,
      lost: () => this.#host.lost(base),
      failed: (why: string) => this.#host.failed(base, why),
    };
    const subject = `${this.#subjectOf(base)}.${hashOf(channel)}`;
    const line = new StreamLine(this.#stream, subject, channel, host, reader, goesOn);
    const lines = this.#lines.get(base) ?? new Map<string, StreamLine>();
    this.#lines.set(base, lines);
    lines.set(channel, line);
    return line;
  }

  #lineOf(channel: string): StreamLine | undefined {
    return this.#lines.get(baseOf(channel))?.get(channel);
  }

  beginEpoch(channel: string, start: EpochStart, retention: Retention): void {
    const line = this.#lineOf(channel) ?? this.#begin(channel, this.#takeRead(channel), false);
    line.begin(start, retention);
  }

  addType(channel: string, _token: bigint, schema: Uint8Array): void {
    this.#lineOf(channel)?.addType(schema);
  }

  append(channel: string, run: LoggedRun): Promise<void> | undefined {
    return this.#lineOf(channel)?.append(run);
  }

  trim(channel: string, firstSeq: number, but: ReadonlySet<number>): void {
    this.#lineOf(channel)?.trim(firstSeq, but);
  }

  forget(channel: string): void {
    const line = this.#lineOf(channel);
    line?.forget();
    void line?.settled()?.then(() => {
      if (line.isEmpty && this.#lineOf(channel) === line) this.#lines.get(baseOf(channel))?.delete(channel);
    });
  }

  leave(channel: string): void {
    // A reader that is at work goes on with it.
    if (this.#fetching.has(channel)) return;
    this.#read.delete(channel);
    const lines = this.#lines.get(channel);
    if (lines === undefined) return;
    void Promise.all(Array.from(lines.values(), line => line.settled())).then(() => {
      if (this.#lines.get(channel) === lines) this.#lines.delete(channel);
    });
  }

  settled(): Promise<unknown> | undefined {
    const waiting = Array.from(this.#allLines(), line => line.settled()).filter(one => one !== undefined);
    return waiting.length === 0 ? undefined : Promise.all(waiting);
  }

  close(): void {
    for (const line of this.#allLines()) line.close();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  *#allLines(): Generator<StreamLine> {
    for (const lines of this.#lines.values()) yield* lines.values();
  }

  #subjectOf(base: string): string {
    return `${this.#stream.subject}.${hashOf(base)}`;
  }
}

/** The channel that a derived one begins with. */
function baseOf(channel: string): string {
  const end = channel.indexOf(" ");
  return end < 0 ? channel : channel.slice(0, end);
}

/** Names have characters that subjects do not. */
function hashOf(name: string): string {
  return createHash("sha256").update(name).digest("base64url").slice(0, SUBJECT_LENGTH);
}
