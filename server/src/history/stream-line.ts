import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import type { EpochStart, LoggedRun, Retention } from "./event-log.ts";
import type { HistoryStream } from "./history-stream.ts";
import {
  type Card,
  cardRecord,
  piecesOf,
  type RecordPlace,
  type RecordReader,
  type RunHead,
  runHead,
  runsRecord,
} from "./stream-records.ts";

/** The gateway's part that a line asks, and reports to. */
export interface LineHost {
  /** Whether this gateway is a member of its cluster: what cannot be stored while it is none waits. */
  isMember(): boolean;
  /** Bytes that wait to be stored, of all lines together, and how many may. */
  readonly waiting: { bytes: number; readonly most: number };
  /** Another gateway has written: it is the channel's home by now. */
  lost(): void;
  /** The history is not stored any more. */
  failed(why: string): void;
}

interface RunsTask {
  readonly is: "runs";
  readonly runs: RunHead[];
  readonly frames: Uint8Array[];
  readonly firstSeq: number;
  endSeq: number;
  bytes: number;
  readonly done: PromiseWithResolvers<void>;
}

/** Something to be done, one after the other. */
type Task =
  | { readonly is: "card"; readonly dropped: RecordPlace[]; readonly done: PromiseWithResolvers<void> }
  | RunsTask
  | { readonly is: "forget"; readonly done: PromiseWithResolvers<void> };

/** Bytes of runs in one record, but for a run that is longer itself. */
const RECORD_BYTES = 256 << 10;
/** Epochs that a card names. */
const MOST_EPOCHS = 256;
const AGAIN_MS = 100;
/** Time after which what a member cannot store is not stored any more. */
const GIVE_UP_MS = 10_000;
const WRITER_BYTES = 9;
const DUPLICATE_IN_PROCESS = 10_158;
const CLUSTER_NOT_AVAILABLE = 10_008;
/** JetStream's codes for what passes. */
const PASSING: ReadonlySet<number> = new Set([DUPLICATE_IN_PROCESS, CLUSTER_NOT_AVAILABLE]);
/** Its codes for a newest message that is another one. */
const OVERTAKEN: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

/**
 * Writes one channel's history to a stream. Each message names the one before it, so only one gateway can write: one that was the channel's home and does not know that
 * it is no more is refused. What comes while a record is under way goes together as the next.
 */
export class StreamLine {
  readonly channel: string;
  readonly #stream: HistoryStream;
  readonly #subject: string;
  readonly #host: LineHost;
  readonly #writer = randomBytes(WRITER_BYTES).toString("base64url");
  #state: "open" | "failed" | "lost" | "closed" = "open";
  #written = 0;
  /** The newest message's number in the stream; 0: there is none. */
  #lastSeq: number;
  #places: RecordPlace[];
  #epochs: EpochStart[];
  #retention: Omit<Retention, "bytes"> | undefined;
  readonly #types: Set<string>;
  /** Whether what is there is to be forgotten. */
  #isFresh: boolean;
  /** Bytes that wait to be stored. */
  #waitingBytes = 0;
  /** Tasks that wait for the present one. */
  readonly #tasks: Task[] = [];
  #working: Task | undefined;
  /** Resolved when nothing is done any more. */
  readonly #ended = Promise.withResolvers<void>();

  /** @param read what is there; undefined: nothing @param goesOn whether it is to be kept */
  constructor(
    stream: HistoryStream,
    subject: string,
    channel: string,
    host: LineHost,
    read: RecordReader | undefined,
    goesOn: boolean,
  ) {
    this.#stream = stream;
    this.#subject = subject;
    this.channel = channel;
    this.#host = host;
    this.#lastSeq = read?.lastSeq ?? 0;
    const card = goesOn ? read?.card : undefined;
    this.#places = goesOn ? (read?.places ?? []) : [];
    this.#epochs = [...(card?.epochs ?? [])];
    this.#types = new Set(card?.types);
    this.#isFresh = !goesOn;
  }

  /** Whether nothing is stored, nor is to be. */
  get isEmpty(): boolean {
    return this.#working === undefined && this.#epochs.length === 0;
  }

  begin(start: EpochStart, retention: Retention): void {
    this.#epochs.push(start);
    this.#retention = retention;
    this.#writeCard([]);
  }

  addType(schema: Uint8Array): void {
    const text = Buffer.from(schema).toString("base64");
    if (this.#types.has(text)) return;
    this.#types.add(text);
    this.#writeCard([]);
  }

  /** @param run whose bytes are valid until this returns @returns resolves when it is stored; undefined: it is not to be */
  append(run: LoggedRun): Promise<void> | undefined {
    if (this.#state === "failed") return undefined;
    if (this.#state !== "open") return new Promise(() => {});
    const { waiting } = this.#host;
    if (waiting.bytes > waiting.most) {
      this.#fail("NATS does not store as fast as events come");
      return undefined;
    }
    const bytes = run.frame.raw().slice();
    const { seq: firstSeq, count } = run.frame;
    this.#waits(bytes.byteLength);
    let last = this.#tasks.at(-1);
    if (last?.is !== "runs" || last.bytes + bytes.byteLength > RECORD_BYTES) {
      const nothing = { runs: [], frames: [], bytes: 0, firstSeq, endSeq: firstSeq };
      last = { is: "runs", ...nothing, done: Promise.withResolvers() };
      this.#add(last);
    }
    last.runs.push(runHead(run));
    last.frames.push(bytes);
    last.bytes += bytes.byteLength;
    last.endSeq = firstSeq + count;
    return last.done.promise;
  }

  trim(firstSeq: number, but: ReadonlySet<number>): void {
    const kept = [...but].sort((a, b) => a - b);
    let next = 0;
    const [needed, dropped]: [RecordPlace[], RecordPlace[]] = [[], []];
    for (const place of this.#places) {
      while ((kept[next] ?? place.endSeq) < place.firstSeq) next++;
      const isNeeded = place.endSeq > firstSeq || (kept[next] ?? place.endSeq) < place.endSeq;
      (isNeeded ? needed : dropped).push(place);
    }
    if (dropped.length === 0) return;
    this.#places = needed;
    // What goes has an older card in it, perhaps the only one.
    this.#writeCard(dropped);
  }

  forget(): void {
    this.#epochs = [];
    this.#types.clear();
    this.#isFresh = true;
    this.#add({ is: "forget", done: Promise.withResolvers() });
  }

  /** Resolves when all is done, or never will be; undefined: that is so. */
  settled(): Promise<void> | undefined {
    const last = this.#state === "open" ? (this.#tasks.at(-1) ?? this.#working) : undefined;
    return last && Promise.race([last.done.promise, this.#ended.promise]);
  }

  /** Writes nothing any more. */
  close(): void {
    if (this.#state === "open") this.#state = "closed";
  }

  #writeCard(dropped: readonly RecordPlace[]): void {
    const last = this.#tasks.at(-1);
    // It is made when its turn has come.
    if (last?.is === "card") last.dropped.push(...dropped);
    else this.#add({ is: "card", dropped: [...dropped], done: Promise.withResolvers() });
  }

  #add(task: Task): void {
    if (this.#state !== "open") return;
    this.#tasks.push(task);
    if (this.#working !== undefined) return;
    this.#working = task;
    // What comes in the same turn goes together.
    queueMicrotask(() => void this.#work());
  }

  async #work(): Promise<void> {
    for (;;) {
      const task = this.#tasks.shift();
      this.#working = task;
      if (task === undefined) return;
      try {
        await this.#do(task);
      } catch (error) {
        return this.#stopped(error as Error, task);
      }
      if (this.#state !== "open") return;
      if (task.is === "runs") this.#waits(-task.bytes);
      task.done.resolve();
    }
  }

  async #do(task: Task): Promise<void> {
    if (task.is === "forget") {
      // Another gateway may be the home by now, and has written since.
      if ((await this.#insist(() => this.#stream.newest(this.#subject))) > this.#lastSeq) return;
      await this.#insist(() => this.#stream.drop(this.#subject, this.#lastSeq + 1));
      this.#lastSeq = 0;
      this.#places = [];
      return;
    }
    if (task.is === "runs") {
      const messages = await this.#write(runsRecord(task.runs, task.frames));
      this.#places.push({ messages, firstSeq: task.firstSeq, endSeq: task.endSeq });
      return;
    }
    const isFresh = this.#isFresh && this.#lastSeq > 0;
    this.#isFresh = false;
    const [cardSeq = 0] = await this.#write(cardRecord(this.#card(isFresh)));
    if (!isFresh && task.dropped.length === 0) return;
    const before = Math.min(cardSeq, this.#places[0]?.messages[0] ?? cardSeq);
    // Where that fails the next time does it.
    this.#stream.drop(this.#subject, before).catch(() => {});
    for (const { messages } of task.dropped)
      for (const seq of messages) if (seq > before) this.#stream.dropOne(seq).catch(() => {});
  }

  #card(isFresh: boolean): Card {
    const { events, seconds, latest, key, durable } = this.#retention as Omit<Retention, "bytes">;
    return {
      channel: this.channel,
      epochs: this.#epochs.slice(-MOST_EPOCHS),
      retention: { events, seconds, latest, key, durable },
      types: [...this.#types],
      isFresh,
    };
  }

  /** @returns the numbers of the record's messages */
  async #write(record: Uint8Array): Promise<number[]> {
    const seqs: number[] = [];
    for (const piece of piecesOf(record, this.#stream.mostBytes)) {
      const id = `${this.#writer}${this.#written++}`;
      this.#lastSeq = await this.#insist(() => this.#stream.write(this.#subject, piece, id, this.#lastSeq));
      seqs.push(this.#lastSeq);
    }
    return seqs;
  }

  /** Tries again what fails for a reason that passes. */
  async #insist<T>(act: () => Promise<T>): Promise<T> {
    let since = performance.now();
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (error instanceof JetStreamApiError && !PASSING.has(error.code)) throw error;
        if (this.#state !== "open") throw error;
        if (!this.#host.isMember()) since = performance.now();
        else if (performance.now() - since > GIVE_UP_MS) throw error;
        await delay(AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  #stopped(error: Error, task: Task): void {
    this.#tasks.unshift(task);
    if (this.#state !== "open") return this.#end();
    if (error instanceof JetStreamApiError && OVERTAKEN.has(error.code)) {
      this.#state = "lost";
      this.#end();
      return this.#host.lost();
    }
    this.#fail(error.message);
  }

  #fail(why: string): void {
    this.#state = "failed";
    this.#end();
    this.#host.failed(why);
  }

  /** Nothing is done any more. What a history that has failed was to have is taken for good all the same. */
  #end(): void {
    for (const { done } of this.#tasks.splice(0)) if (this.#state === "failed") done.resolve();
    if (this.#state === "failed") this.#working?.done.resolve();
    this.#working = undefined;
    this.#waits(-this.#waitingBytes);
    this.#ended.resolve();
  }

  #waits(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#host.waiting.bytes += bytes;
  }
}
