import type { WebSocket } from "uWebSockets.js";
import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";
import { type Control, encodeForNow, Few, type Outgoing } from "@jecho/shared/internal";
import { SOCKET_HIGH_BYTES, SOCKET_LOW_BYTES } from "./delivery/listener.ts";
import type { Listeners } from "./delivery/listeners.ts";
import { type Standing, Turns } from "./delivery/turns.ts";
import { Waiting } from "./delivery/waiting.ts";
import type { Replay } from "./history/replay.ts";
import type { GatewayConsumer } from "./management/consumer.ts";
import type { Producer } from "./management/endpoints.ts";
import { type Answered, Requests, unasked } from "./requests.ts";

/** What a connection needs of the socket below it. */
export type Link = Pick<
  WebSocket<unknown>,
  "send" | "publish" | "subscribe" | "unsubscribe" | "end" | "getBufferedAmount"
>;

export interface ConnectionLimits {
  /** How long it may take to answer. */
  readonly requestTimeoutMs: number;
  /** Bytes that may wait for it on all channels together. */
  readonly connectionQueueBytes: number;
}

/** A topic that nothing is published to. */
const PRODUCERS = "producers";

/** Drawn many at a time: each draw costs microseconds, and memory until the next garbage collection. */
const RANDOM = new Uint32Array(1024);
let drawn = RANDOM.length;

/** What most connections never need: made for those that do. */
class Seldom {
  /** Channels whose events wait in a queue for this connection. */
  turns: Turns | undefined;
  isBehind = false;
  /** What waits in those queues together. */
  waiting: Waiting | undefined;
  /** Its consumers that are being sent their past. */
  readonly replays = new Set<Replay>();
  requests: Requests | undefined;
  modulators = 0;
  process = 0;
}

/**
 * One concentrator's connection: its endpoints, and what the gateway has asked of it. There may be many thousands, and most
 * have one consumer and are idle, so each field counts (and so would a private method: it costs every object a field).
 */
export class Connection {
  /** 60 random bits: see `Audience`. */
  readonly markLow: number;
  readonly markHigh: number;
  greeted = false;
  /** Messages with events that have come and are not confirmed yet. */
  unconfirmed = 0;
  unconfirmedBytes = 0;
  /** Whom it is counted for. */
  address = "";
  /** By the count of `Silence`. */
  heardAt = 0;
  readonly #limits: ConnectionLimits;
  /** Until the socket has gone. */
  #link: Link | undefined;
  /** By their numbers. Most connections have none. */
  #producers: Few<number, Producer> | undefined;
  readonly #consumers = new Few<number, GatewayConsumer>();
  #seldom: Seldom | undefined;

  constructor(link: Link, limits: ConnectionLimits) {
    this.#link = link;
    this.#limits = limits;
    this.markLow = randomBits();
    this.markHigh = randomBits();
  }

  /** By the number that the gateway gave it. */
  consumer(number: number): GatewayConsumer | undefined {
    return this.#consumers.get(number);
  }

  get producers(): Iterable<Producer> {
    return this.#producers?.values() ?? [];
  }

  /** Those that are to be opened, too. */
  get consumers(): Iterable<GatewayConsumer> {
    return this.#consumers.values();
  }

  /** How many producers and consumers it has. */
  get endpoints(): number {
    return (this.#producers?.size ?? 0) + this.#consumers.size;
  }

  /** It will send events. */
  willPublish(): void {
    // A socket without any subscription may not publish.
    this.subscribe(PRODUCERS);
  }

  addProducer(producer: Producer): void {
    this.#producers ??= new Few();
    if (this.#producers.size === 0) this.willPublish();
    this.#producers.set(producer.number, producer);
  }

  removeProducer({ number }: Producer): void {
    this.#producers?.delete(number);
  }

  addConsumer(consumer: GatewayConsumer): void {
    this.#consumers.set(consumer.number, consumer);
    if (consumer.derived === undefined) return;
    this.#seldom ??= new Seldom();
    this.#seldom.modulators++;
  }

  removeConsumer({ number, derived }: GatewayConsumer): void {
    this.#consumers.delete(number);
    if (derived !== undefined && this.#seldom !== undefined) this.#seldom.modulators--;
  }

  /** How many of its consumers read what modulators make. */
  get modulators(): number {
    return this.#seldom?.modulators ?? 0;
  }

  /** The number that the process has which produces here, among all such; 0 before that. */
  get process(): number {
    return this.#seldom?.process ?? 0;
  }

  set process(process: number) {
    this.#seldom ??= new Seldom();
    this.#seldom.process = process;
  }

  /** @param standing how this channel stands, whose events go through a queue for this connection; undefined where they do no longer */
  lags(channel: Listeners, standing: Standing | undefined): void {
    if (standing === undefined) return this.#seldom?.turns?.set(channel, undefined);
    this.#seldom ??= new Seldom();
    this.#seldom.turns ??= new Turns();
    this.#seldom.turns.set(channel, standing);
  }

  /** What waits for it in the queues of all channels. */
  get waiting(): Waiting {
    this.#seldom ??= new Seldom();
    const seldom = this.#seldom;
    seldom.waiting ??= new Waiting(this.#limits.connectionQueueBytes, () => seldom.turns?.letGoOn(this));
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
  replaying(replay: Replay, isReplaying: boolean): void {
    if (!isReplaying) this.#seldom?.replays.delete(replay);
    else {
      this.#seldom ??= new Seldom();
      this.#seldom.replays.add(replay);
    }
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

  /** Does so much wait in the socket that events wait in their channels' queues? From `fallsBehind` on, until there is little. */
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

  /** Tells that the messages with events which came since the last time are taken. */
  confirm(): void {
    const messages = this.takeUnconfirmed();
    if (messages > 0) this.send({ kind: "Taken", messages });
  }

  /** How many messages with events came since the last time; what is sent now says that they are taken. */
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
   * The same, for one who acts on the answer at once.
   *
   * @param isPatient whether the answer may take as long as the connection lasts
   * @returns what ends the waiting
   */
  ask(make: (request: number) => Outgoing, answered: Answered, isPatient = true): () => void {
    this.#seldom ??= new Seldom();
    this.#seldom.requests ??= new Requests(this.#limits.requestTimeoutMs);
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

  /** The socket is gone: nothing may be sent any more, and nobody will answer. */
  lost(): void {
    this.#link = undefined;
    if (this.#seldom === undefined) return;
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
