import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";
import { type Control, encodeForNow, type Outgoing } from "@jecho/shared/internal";
import type { Subject } from "../access/subject.ts";
import { SOCKET_HIGH_BYTES, SOCKET_LOW_BYTES } from "../delivery/listener.ts";
import { Turns } from "../delivery/turns.ts";
import { WaitingBytes, type WaitingTotal } from "../delivery/waiting.ts";
import type { ServerSocket } from "../web/web-server.ts";
import type { Party } from "./crowd.ts";
import { type Answered, Requests, unasked } from "./requests.ts";

/** The socket's methods that a connection uses. */
export type ConnectionSocket = Omit<ServerSocket, "getRemoteAddress">;

export interface ConnectionLimits {
  /** Milliseconds that the client has for an answer. */
  readonly requestTimeoutMs: number;
  /** Most bytes that wait for it on all channels together. */
  readonly connectionQueueBytes: number;
  /** The memory that waits for all connections together. */
  readonly waitingTotal: WaitingTotal;
  /** Index of the gateway in its cluster; undefined: it stands alone. */
  readonly index?: number | undefined;
}

/**
 * State of a channel's queue for a connection: events wait and may be sent, nothing waits, or the process cannot
 * take more.
 */
export type Standing = "due" | "level" | "paused";

/** A channel that has a queue for connections. */
export interface QueuedChannel {
  /** Takes the next waiting frames for a connection. @param parts list to which the frames are added @returns their bytes; 0 where nothing waits */
  takeWaiting(connection: Connection, parts: Uint8Array[]): number;
  /** The connection has caught up: where nothing waits, it gets events by the topic again. */
  keepUp(connection: Connection): void;
  /** There is room again for a connection's waiting events, on all its channels. */
  letGoOn(connection: Connection): void;
  /** Brings the connection's waiting events within their bound, by its policy: drops events, cuts it off, or has producers wait. */
  makeRoom(connection: Connection): void;
}

/** Sends a consumer's past, or what else waits for room in the socket. */
export interface SendsPast {
  /** Sends more, as far as the socket has room. */
  pump(): void;
  end(): void;
}

/** Random numbers, drawn many at a time: each draw costs microseconds, and garbage. */
const RANDOM = new Uint32Array(1024);
let drawn = RANDOM.length;

/** Number of connections that have had topics of their own. */
let ownTopics = 0;

const NOBODYS: readonly Party[] = [];

/** State that few connections need, created on first use. */
class Seldom {
  /** Channels with a queue for this connection. */
  turns: Turns | undefined;
  isBehind = false;
  /** Bytes that wait in these queues together. */
  waiting: WaitingBytes | undefined;
  /** Senders of its consumers' past, and of what else waits for room in the socket. */
  readonly replays = new Set<SendsPast>();
  requests: Requests | undefined;
  process = 0;
  isCut = false;
  isLeaving = false;
  hasClosed = false;
  /** Resolves when all its events are stored; undefined where they are. */
  stored: Promise<void> | undefined;
  /** The same for its newest event alone. */
  newestStored: Promise<void> | undefined;
}

/**
 * One concentrator's connection: sends to it, and knows what waits for it and what the gateway has asked of it. There may be many thousands,
 * most of them idle, so each field counts (and each private method, which costs every object a field).
 */
export class Connection {
  /** 60 random bits: see `Audience`. */
  readonly markLow: number;
  readonly markHigh: number;
  /** Subject of the connection; undefined until it has been greeted. */
  subject: Subject | undefined;
  /** Parties whose limits it shares: the connections of the same address, and those of the same subject. */
  parties: readonly Party[] = NOBODYS;
  /** Number of unconfirmed messages with events. */
  unconfirmed = 0;
  unconfirmedBytes = 0;
  /** Time of the last message, in looks of `Silence`. */
  heardAt = 0;
  readonly #limits: ConnectionLimits;
  /** The socket; undefined once it is closed. */
  #link: ConnectionSocket | undefined;
  #seldom: Seldom | undefined;
  #ownTopic = "";

  constructor(link: ConnectionSocket, limits: ConnectionLimits) {
    this.#link = link;
    this.#limits = limits;
    this.markLow = randomBits();
    this.markHigh = randomBits();
  }

  /** Number of its process among all producing ones; 0 before it produces. */
  get process(): number {
    return this.#seldom?.process ?? 0;
  }

  set process(process: number) {
    this.#seldom ??= new Seldom();
    this.#seldom.process = process;
  }

  /** Whether its process was cut off, and may come back. */
  get isCut(): boolean {
    return this.#seldom?.isCut ?? false;
  }

  /** @param standing state of the channel's queue for this connection; undefined where it has none any more */
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

  /** Resolves when no channel has a queue for this connection, or it is lost. For one caller at a time. */
  level(): Promise<void> {
    const turns = this.#seldom?.turns;
    if (turns === undefined || turns.isEmpty) return Promise.resolve();
    return new Promise(resolve => {
      turns.whenOver = resolve;
    });
  }

  /** A consumer is being sent its past, or something waits for room in the socket; or no longer. */
  replaying(replay: SendsPast, isReplaying: boolean): void {
    if (!isReplaying) this.#seldom?.replays.delete(replay);
    else {
      this.#seldom ??= new Seldom();
      this.#seldom.replays.add(replay);
    }
  }

  /** Whether its events are taken. Others are not confirmed, so it sends them again, to the next gateway. */
  get isTaken(): boolean {
    return this.#seldom?.isLeaving !== true;
  }

  /** Takes no more events of it, for it is about to end. */
  stopTaking(): void {
    this.#seldom ??= new Seldom();
    this.#seldom.isLeaving = true;
  }

  /** Reserves bytes of the connection's parties. @throws JechoError `OVERLOADED` */
  checkKeeping(bytes: number): void {
    for (const party of this.parties) party.checkKeeping(bytes);
  }

  /** Counts bytes kept for the connection, negative ones when they are freed, also after it has gone. */
  keep(bytes: number): void {
    for (const party of this.parties) party.keptBytes += bytes;
  }

  get isOpen(): boolean {
    return this.#link !== undefined;
  }

  send(control: Outgoing): void {
    this.#link?.send(encodeForNow(control), true);
  }

  /** Sends whole frames. @returns false where some bytes wait in the socket */
  sendBytes(bytes: Uint8Array): boolean {
    return this.#link?.send(bytes, true) === 1;
  }

  /** The other side has closed it in order: nothing can be sent, but what came before is acted on, until `lost`. */
  closed(): void {
    this.#link = undefined;
    this.#seldom ??= new Seldom();
    this.#seldom.hasClosed = true;
  }

  /** Whether what came of it is acted on. */
  get isHeard(): boolean {
    return this.isOpen || this.#seldom?.hasClosed === true;
  }

  /** Bytes that wait in the socket. */
  get bufferedBytes(): number {
    return this.#link?.getBufferedAmount() ?? 0;
  }

  /** Whether its messages are held back until `Inboxes.drained`. */
  get isHeld(): boolean {
    return false;
  }

  /** Whether the socket is so full that events wait in their channels' queues. True from `fallsBehind` on, until little is left. */
  get isBehind(): boolean {
    return this.#seldom?.isBehind ?? false;
  }

  /** Checks whether too much waits in the socket. @returns true where that is new */
  fallsBehind(): boolean {
    if (this.isBehind || this.bufferedBytes <= SOCKET_HIGH_BYTES) return false;
    this.#seldom ??= new Seldom();
    this.#seldom.isBehind = true;
    return true;
  }

  /** The socket has room again, or a channel may send waiting events. */
  drained(): void {
    const seldom = this.#seldom;
    if (seldom === undefined) return;
    seldom.turns?.send(this);
    for (const replay of [...seldom.replays]) replay.pump();
    if (this.bufferedBytes > SOCKET_LOW_BYTES) return;
    seldom.isBehind = false;
    // A past that has just ended may owe positions.
    seldom.turns?.send(this);
    seldom.turns?.keepUp(this);
  }

  /** Sets a promise that resolves when its newest event is stored. */
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

  /** Whether all its events so far are stored where they have to be. */
  get isStored(): boolean {
    return this.#seldom?.stored === undefined;
  }

  /** Calls back when all its events so far are stored. */
  whenStored(act: () => void): void {
    const stored = this.#seldom?.stored;
    if (stored === undefined) act();
    else void stored.then(act);
  }

  /** Confirms the messages with events that came since the last confirmation. */
  confirm(): void {
    const messages = this.takeUnconfirmed();
    if (messages > 0) this.send({ kind: "Taken", messages });
  }

  /** Answers the question whether all that was sent before it was taken. */
  pong(time: number): void {
    this.whenStored(() => {
      this.confirm();
      this.send({ kind: "Pong", time, now: Date.now() });
    });
  }

  /** Takes the number of unconfirmed messages with events; the caller confirms them. */
  takeUnconfirmed(): number {
    const messages = this.unconfirmed;
    this.unconfirmed = 0;
    this.unconfirmedBytes = 0;
    return messages;
  }

  /** A topic that this connection alone is subscribed to. */
  get ownTopic(): string {
    if (this.#ownTopic === "") {
      this.#ownTopic = `connection ${++ownTopics}`;
      this.subscribe(this.#ownTopic);
    }
    return this.#ownTopic;
  }

  /** Sends to all subscribers of the topic except this connection. */
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
   * Asks this concentrator for something, for a caller that acts on the answer synchronously.
   *
   * @param isPatient whether the answer may take as long as the connection lasts
   * @returns a function that ends the waiting
   */
  ask(make: (request: number) => Outgoing, answered: Answered, isPatient = true): () => void {
    this.#seldom ??= new Seldom();
    this.#seldom.requests ??= new Requests(this.#limits.requestTimeoutMs, this.#limits.index);
    return this.#seldom.requests.ask(request => this.send(make(request)), answered, isPatient);
  }

  /** Hands an answer to the asker. @throws JechoError `FRAME_UNEXPECTED` where nothing was asked */
  answer(request: number, answer: Control): void {
    const requests = this.#seldom?.requests;
    if (requests === undefined) throw unasked(answer);
    requests.answer(request, answer);
  }

  /** Ends the connection, telling the other side why. Nothing more of it is acted on. */
  end(code: ErrorCode, detail?: string): void {
    if (this.#seldom !== undefined) this.#seldom.hasClosed = false;
    // A close reason has at most 123 bytes.
    const reason = `${code}: ${detail ?? ERRORS[code][1]}`.replace(/[^\x20-\x7e]/g, "?").slice(0, 123);
    this.#link?.end(ERRORS[code][0], reason);
  }

  /** The socket is closed: nothing can be sent, and no answer comes. @param isCut whether the other side did not close it in order */
  lost(isCut = false): void {
    this.#link = undefined;
    if (this.#seldom === undefined) return;
    this.#seldom.hasClosed = false;
    this.#seldom.isCut = isCut;
    for (const replay of [...this.#seldom.replays]) replay.end();
    this.#seldom.requests?.lost();
    this.#seldom.turns?.whenOver?.();
  }
}

/** 30 random bits, which V8 stores without a heap number. */
function randomBits(): number {
  if (drawn === RANDOM.length) {
    crypto.getRandomValues(RANDOM);
    drawn = 0;
  }
  return (RANDOM[drawn++] as number) >>> 2;
}
