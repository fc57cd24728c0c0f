import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";
import { type Control, encodeForNow, type Outgoing } from "@jecho/shared/internal";
import type { Subject } from "../access/subject.ts";
import { SOCKET_HIGH_BYTES, SOCKET_LOW_BYTES } from "../delivery/listener.ts";
import { Turns } from "../delivery/turns.ts";
import { WaitingBytes, type WaitingTotal } from "../delivery/waiting.ts";
import type { ServerSocket } from "../web/web-server.ts";
import type { Party } from "./crowd.ts";
import { type Answered, Requests, unasked } from "./requests.ts";

/** Methods of the socket below that a connection needs. */
export type ConnectionSocket = Omit<ServerSocket, "getRemoteAddress">;

export interface ConnectionLimits {
  /** Time that the client has to answer, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Bytes that may wait for it on all channels together. */
  readonly connectionQueueBytes: number;
  /** The bytes that wait for all connections together. */
  readonly waitingTotal: WaitingTotal;
  /** Index of the gateway in its cluster; undefined: it stands alone. */
  readonly index?: number | undefined;
}

/**
 * State of a channel's queue for a connection: events wait and may go out, nothing waits, or the process can
 * take no more.
 */
export type Standing = "due" | "level" | "paused";

/** A channel that has a queue for connections. */
export interface QueuedChannel {
  /** Takes the next of what waits for a connection here. @param parts get it, in whole frames @returns its bytes; 0 where nothing does */
  takeWaiting(connection: Connection, parts: Uint8Array[]): number;
  /** The connection has caught up: where nothing waits for it, events come by the topic again. */
  keepUp(connection: Connection): void;
  /** Tells that there is room again where a connection's events wait, on other channels, too. */
  letGoOn(connection: Connection): void;
  /** Drops what a connection's bound leaves no room for, cuts it off, or has producers wait, by its policy. */
  makeRoom(connection: Connection): void;
  /** Cuts off a connection that has had producers wait for too long. */
  blockedTooLong(connection: Connection): void;
}

/** A sender of a consumer's past. */
export interface SendsPast {
  /** Sends more, where there is room in the socket. */
  pump(): void;
  end(): void;
}

/** Drawn many at a time: each draw costs microseconds, and memory until the next garbage collection. */
const RANDOM = new Uint32Array(1024);
let drawn = RANDOM.length;

const NOBODYS: readonly Party[] = [];

/** State that most connections never need: made for those that do. */
class Seldom {
  /** Channels whose events wait in a queue for this connection. */
  turns: Turns | undefined;
  isBehind = false;
  /** Bytes that wait in those queues together. */
  waiting: WaitingBytes | undefined;
  /** Consumers of the connection that are being sent their past. */
  readonly replays = new Set<SendsPast>();
  requests: Requests | undefined;
  process = 0;
  isCut = false;
  isLeaving = false;
  /** Resolves when what it sent is stored; undefined: it is. */
  stored: Promise<void> | undefined;
  /** The same of its newest event alone. */
  newestStored: Promise<void> | undefined;
}

/**
 * One concentrator's connection: what is sent to it, what waits for it, and what the gateway has asked of it. There may be many thousands,
 * and most are idle, so each field counts (and so would a private method: it costs every object a field).
 */
export class Connection {
  /** 60 random bits: see `Audience`. */
  readonly markLow: number;
  readonly markHigh: number;
  /** Subject of the connection; undefined until it has been greeted. */
  subject: Subject | undefined;
  /** Parties that share what they may send, and have kept: the connections of the same address, and those of the same subject. */
  parties: readonly Party[] = NOBODYS;
  /** Messages with events that have come and are not confirmed yet. */
  unconfirmed = 0;
  unconfirmedBytes = 0;
  /** Time of the last message, by the count of `Silence`. */
  heardAt = 0;
  readonly #limits: ConnectionLimits;
  /** The socket, until it has gone. */
  #link: ConnectionSocket | undefined;
  #seldom: Seldom | undefined;

  constructor(link: ConnectionSocket, limits: ConnectionLimits) {
    this.#link = link;
    this.#limits = limits;
    this.markLow = randomBits();
    this.markHigh = randomBits();
  }

  /** The number that the process has which produces here, among all such; 0 before that. */
  get process(): number {
    return this.#seldom?.process ?? 0;
  }

  set process(process: number) {
    this.#seldom ??= new Seldom();
    this.#seldom.process = process;
  }

  /** Whether the process that produces here has gone without taking leave: it may come back. */
  get isCut(): boolean {
    return this.#seldom?.isCut ?? false;
  }

  /** @param standing how this channel stands, whose events go through a queue for this connection; undefined where they do no longer */
  lags(channel: QueuedChannel, standing: Standing | undefined): void {
    if (standing === undefined) return this.#seldom?.turns?.set(channel, undefined);
    this.#seldom ??= new Seldom();
    this.#seldom.turns ??= new Turns();
    this.#seldom.turns.set(channel, standing);
  }

  /** Bytes that wait for the connection in the queues of all channels. */
  get waiting(): WaitingBytes {
    this.#seldom ??= new Seldom();
    const seldom = this.#seldom;
    const { connectionQueueBytes, waitingTotal } = this.#limits;
    seldom.waiting ??= new WaitingBytes(
      connectionQueueBytes,
      waitingTotal,
      () => seldom.turns?.letGoOn(this),
      () => seldom.turns?.makeRoom(this),
    );
    return seldom.waiting;
  }

  /** Resolves when no channel has a queue for this connection, or it is lost. For one who asks. */
  level(): Promise<void> {
    const turns = this.#seldom?.turns;
    if (turns === undefined || turns.isEmpty) return Promise.resolve();
    return new Promise(resolve => {
      turns.whenOver = resolve;
    });
  }

  /** A consumer is being sent its past, or no longer. */
  replaying(replay: SendsPast, isReplaying: boolean): void {
    if (!isReplaying) this.#seldom?.replays.delete(replay);
    else {
      this.#seldom ??= new Seldom();
      this.#seldom.replays.add(replay);
    }
  }

  /** Whether events are taken of it: what it sends otherwise is not confirmed, and so comes again, to the next gateway. */
  get isTaken(): boolean {
    return this.#seldom?.isLeaving !== true;
  }

  /** Takes no more events of it: it is about to end. */
  stopTaking(): void {
    this.#seldom ??= new Seldom();
    this.#seldom.isLeaving = true;
  }

  /** So many bytes more are to be kept for the connection. @throws JechoError `OVERLOADED` */
  checkKeeping(bytes: number): void {
    for (const party of this.parties) party.checkKeeping(bytes);
  }

  /** So many bytes more are kept for the connection; less where negative, also when it has gone. */
  keep(bytes: number): void {
    for (const party of this.parties) party.keptBytes += bytes;
  }

  get isOpen(): boolean {
    return this.#link !== undefined;
  }

  send(control: Outgoing): void {
    this.#link?.send(encodeForNow(control), true);
  }

  /** Sends whole frames. @returns false where some of it waits in the socket */
  sendBytes(bytes: Uint8Array): boolean {
    return this.#link?.send(bytes, true) === 1;
  }

  /** Bytes that wait in the socket. */
  get bufferedBytes(): number {
    return this.#link?.getBufferedAmount() ?? 0;
  }

  /** Whether its messages wait, for reasons of its own, until `Inboxes.drained`. */
  get isHeld(): boolean {
    return false;
  }

  /** Whether so much waits in the socket that events wait in their channels' queues. True from `fallsBehind` on, until there is little. */
  get isBehind(): boolean {
    return this.#seldom?.isBehind ?? false;
  }

  /** Looks whether there is too much in the socket. @returns true where there is, and was not before */
  fallsBehind(): boolean {
    if (this.isBehind || this.bufferedBytes <= SOCKET_HIGH_BYTES) return false;
    this.#seldom ??= new Seldom();
    this.#seldom.isBehind = true;
    return true;
  }

  /** The socket has room again, or a channel may send what waits. */
  drained(): void {
    const seldom = this.#seldom;
    if (seldom === undefined) return;
    seldom.turns?.send(this);
    for (const replay of [...seldom.replays]) replay.pump();
    if (this.bufferedBytes > SOCKET_LOW_BYTES) return;
    seldom.isBehind = false;
    seldom.turns?.keepUp(this);
  }

  /** An event that it sent is taken for good when this resolves. */
  awaitStored(stored: Promise<void>): void {
    this.#seldom ??= new Seldom();
    const seldom = this.#seldom;
    if (seldom.newestStored === stored) return;
    seldom.newestStored = stored;
    const all = seldom.stored === undefined ? stored : seldom.stored.then(() => stored);
    seldom.stored = all;
    void all.then(() => {
      if (seldom.stored === all) seldom.stored = seldom.newestStored = undefined;
    });
  }

  /** Whether all that it sent until now is stored where it has to be. */
  get isStored(): boolean {
    return this.#seldom?.stored === undefined;
  }

  /** Acts when that is so. */
  whenStored(act: () => void): void {
    const stored = this.#seldom?.stored;
    if (stored === undefined) act();
    else void stored.then(act);
  }

  /** Tells that the messages with events which came since the last time are taken. */
  confirm(): void {
    const messages = this.takeUnconfirmed();
    if (messages > 0) this.send({ kind: "Taken", messages });
  }

  /** Answers a question whether all is taken that was sent before it. */
  pong(time: number): void {
    this.whenStored(() => {
      this.confirm();
      this.send({ kind: "Pong", time, now: Date.now() });
    });
  }

  /** Number of messages with events since the last call, which the caller confirms. */
  takeUnconfirmed(): number {
    const messages = this.unconfirmed;
    this.unconfirmed = 0;
    this.unconfirmedBytes = 0;
    return messages;
  }

  /** Sends to every subscriber of the topic but this connection itself. */
  publish(topic: string, bytes: Uint8Array): void {
    this.#link?.publish(topic, bytes, true);
  }

  subscribe(topic: string): void {
    this.#link?.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.#link?.unsubscribe(topic);
  }

  /** Asks this concentrator for something; rejects with `TIMED_OUT` or `PRODUCER_GONE`. */
  request(make: (request: number) => Outgoing): Promise<Control> {
    return new Promise((resolve, reject) => {
      this.ask(make, answer => (answer instanceof JechoError ? reject(answer) : resolve(answer)), false);
    });
  }

  /**
   * Asks likewise, for a caller that acts on the answer at once.
   *
   * @param isPatient whether the answer may take as long as the connection lasts
   * @returns what ends the waiting
   */
  ask(make: (request: number) => Outgoing, answered: Answered, isPatient = true): () => void {
    this.#seldom ??= new Seldom();
    this.#seldom.requests ??= new Requests(this.#limits.requestTimeoutMs, this.#limits.index);
    return this.#seldom.requests.ask(request => this.send(make(request)), answered, isPatient);
  }

  /** Hands an answer to who asked. @throws JechoError `FRAME_UNEXPECTED` where nothing was asked */
  answer(request: number, answer: Control): void {
    const requests = this.#seldom?.requests;
    if (requests === undefined) throw unasked(answer);
    requests.answer(request, answer);
  }

  /** Ends the connection, telling the other side why. */
  end(code: ErrorCode, detail?: string): void {
    // A close reason has at most 123 bytes.
    const reason = `${code}: ${detail ?? ERRORS[code][1]}`.replace(/[^\x20-\x7e]/g, "?").slice(0, 123);
    this.#link?.end(ERRORS[code][0], reason);
  }

  /** The socket is gone: nothing may be sent any more, and nobody will answer. @param isCut the other side did not take leave */
  lost(isCut = false): void {
    this.#link = undefined;
    if (this.#seldom === undefined) return;
    this.#seldom.isCut = isCut;
    for (const replay of [...this.#seldom.replays]) replay.end();
    this.#seldom.requests?.lost();
    this.#seldom.turns?.whenOver?.();
  }
}

/** 30 of them, which V8 keeps without a box. */
function randomBits(): number {
  if (drawn === RANDOM.length) {
    crypto.getRandomValues(RANDOM);
    drawn = 0;
  }
  return (RANDOM[drawn++] as number) >>> 2;
}
