import { type Control, encodeControl, type Outgoing, type Yielded } from "@jecho/shared/internal";
import { ClientConnection } from "../connections/client-connection.ts";
import type { ConnectionLimits, ConnectionSocket } from "../connections/connection.ts";
import { MOST_PER_CONNECTION } from "../management/handovers.ts";
import { json, sendTrunk, TO_EDGE, words } from "./trunk.ts";
import type { TrunkCarrier } from "./trunk-carrier.ts";

/** Longest time between what a client has yielded and the request for it of whoever goes on with it: they come from different gateways. */
const TAKE_OVER_MS = 10_000;
/** Most bytes that wait until its token has been checked here, besides its frames. */
const MOST_UNGREETED_BYTES = 16 << 20;
/** Bytes on the way to another gateway from which on its clients count as slow. */
const HIGH_BYTES = 1 << 20;

/** Topics that clients of one other gateway take: their numbers on the way there, and how many take each. */
export class TrunkTopics {
  readonly #topics = new Map<string, { readonly number: number; takers: number }>();
  /** Whether clients have seen the way there full since it last had room, and may wait for it. */
  isAwaited = false;
  #next = 1;

  /** A client takes it. @returns its number */
  add(topic: string): number {
    const known = this.#topics.get(topic);
    if (known !== undefined) {
      known.takers++;
      return known.number;
    }
    const number = this.#next++;
    this.#topics.set(topic, { number, takers: 1 });
    return number;
  }

  /** A client takes it no more. @returns its number */
  remove(topic: string): number {
    const known = this.#topics.get(topic);
    if (known === undefined) return 0;
    if (--known.takers === 0) this.#topics.delete(topic);
    return known.number;
  }

  /** Its number; undefined where nobody there takes it. */
  find(topic: string): number | undefined {
    return this.#topics.get(topic)?.number;
  }
}

/** The socket of a client that is connected to another gateway. */
export class RemoteSocket implements ConnectionSocket {
  readonly client: number;
  readonly carrier: TrunkCarrier;
  readonly #topics: TrunkTopics;
  readonly #publish: (topic: string, message: Uint8Array, from: RemoteSocket) => void;
  readonly #ended: (code: number) => void;
  readonly #taken = new Set<string>();
  #waitingBytes = 0;
  #isOpen = true;

  /**
   * @param client number of the client on the way there
   * @param publish sends to all takers of a topic, wherever they are, but this one
   * @param ended called when this side has ended it
   */
  constructor(
    client: number,
    carrier: TrunkCarrier,
    topics: TrunkTopics,
    publish: (topic: string, message: Uint8Array, from: RemoteSocket) => void,
    ended: (code: number) => void,
  ) {
    this.client = client;
    this.carrier = carrier;
    this.#topics = topics;
    this.#publish = publish;
    this.#ended = ended;
  }

  send(message: Uint8Array): number {
    if (!this.#isOpen) return 2;
    sendTrunk(this.carrier, TO_EDGE.send, this.client, message);
    return this.getBufferedAmount() > 0 ? 0 : 1;
  }

  publish(topic: string, message: Uint8Array): boolean {
    this.#publish(topic, message, this);
    return true;
  }

  subscribe(topic: string): boolean {
    if (this.#taken.has(topic)) return true;
    this.#taken.add(topic);
    sendTrunk(this.carrier, TO_EDGE.subscribe, this.client, words(this.#topics.add(topic)));
    return true;
  }

  unsubscribe(topic: string): boolean {
    if (!this.#taken.delete(topic)) return false;
    sendTrunk(this.carrier, TO_EDGE.unsubscribe, this.client, words(this.#topics.remove(topic)));
    return true;
  }

  end(code = 1000, reason = ""): void {
    if (!this.#isOpen) return;
    sendTrunk(this.carrier, TO_EDGE.ends, this.client, json([code, reason]));
    this.closed();
    this.#ended(code);
  }

  /** Nothing goes to it any more. */
  closed(): void {
    this.#isOpen = false;
    for (const topic of this.#taken) this.#topics.remove(topic);
    this.#taken.clear();
  }

  /** Bytes that wait for it at its edge, and those on the way there where these are many. */
  getBufferedAmount(): number {
    const { waitingBytes } = this.carrier;
    if (waitingBytes <= HIGH_BYTES) return this.#waitingBytes;
    this.#topics.isAwaited = true;
    return this.#waitingBytes + waitingBytes;
  }

  /** Its edge has said how many bytes wait there. */
  waits(bytes: number): void {
    this.#waitingBytes = bytes;
  }
}

/** A handover that another device may take up, as far as that has asked for it, and the client has yielded: it does so for all gateways at once. */
interface Yielding {
  /** The request that it is to answer. */
  request?: number;
  yielded?: Yielded;
}

/** A client that is connected to another gateway. Its edge confirms what it sends: a message may be for several homes. */
export class RemoteClient extends ClientConnection {
  readonly socket: RemoteSocket;
  /** By the client's request for the token. */
  readonly #yielding = new Map<number, Yielding>();
  #takenOver: (() => void) | undefined;
  readonly #ungreeted: (() => void)[] = [];
  #ungreetedBytes = 0;

  constructor(socket: RemoteSocket, limits: ConnectionLimits) {
    super(socket, limits);
    this.socket = socket;
  }

  override get isElsewhere(): boolean {
    return true;
  }

  /** Whether its messages wait, until its token has been checked here, too. */
  override get isHeld(): boolean {
    return this.subject === undefined;
  }

  /** Acts once its token has been checked here, too. @param bytes that are kept until then */
  whenGreeted(act: () => void, bytes: number): void {
    if (this.subject !== undefined) return act();
    this.#ungreetedBytes += bytes;
    if (this.#ungreetedBytes > MOST_UNGREETED_BYTES)
      return this.end("OVERLOADED", "more waits for the check of its token than may");
    this.#ungreeted.push(act);
  }

  /** Its token has been checked: its subject is known. */
  greeted(): void {
    for (const act of this.#ungreeted.splice(0)) act();
  }

  override send(control: Outgoing): void {
    switch (control.kind) {
      // Its edge answers when all homes have confirmed, which is what it was forwarded for.
      case "Pong":
        return;
      case "HandoverToken":
        if (this.#yielding.size === MOST_PER_CONNECTION) this.#yielding.clear();
        this.#yielding.set(control.request ?? 0, {});
        return this.#sendPart(control);
      case "Inheritance":
      case "Kicked":
      case "Overview":
        return this.#sendPart(control);
      // Its edge's gateway asks it for all.
      case "Yield":
        return this.#yields(control.asked ?? 0, { request: control.request ?? 0 });
      default:
        super.send(control);
    }
  }

  #sendPart(part: Outgoing): void {
    sendTrunk(this.socket.carrier, TO_EDGE.part, this.socket.client, encodeControl(part));
  }

  override answer(request: number, answer: Control): void {
    if (answer.kind !== "Yielded") return super.answer(request, answer);
    if (this.#yielding.has(answer.asked)) return this.#yields(answer.asked, { yielded: answer });
    // What it has opened here since it asked for the token stays behind.
    for (const { consumer } of answer.places) this.consumer(consumer)?.end();
  }

  #yields(asked: number, step: Yielding): void {
    const yielding = { ...this.#yielding.get(asked), ...step };
    const { request, yielded } = yielding;
    this.#yielding.set(asked, yielding);
    if (request === undefined || yielded === undefined) return;
    super.answer(request, yielded);
    // Whoever has asked acts on it at the end of this turn.
    setImmediate(() => {
      this.#yielding.delete(asked);
      this.#takenOver?.();
    });
  }

  /** Calls back when no device is on the way any more that goes on with what this client has yielded. */
  whenTakenOver(act: () => void): void {
    const isAwaited = [...this.#yielding.values()].some(({ yielded }) => yielded !== undefined);
    if (!isAwaited) return act();
    const late = setTimeout(act, TAKE_OVER_MS).unref();
    this.#takenOver = () => {
      clearTimeout(late);
      act();
    };
  }

  override confirm(): void {
    const messages = super.takeUnconfirmed();
    if (messages > 0 && this.isOpen)
      sendTrunk(this.socket.carrier, TO_EDGE.taken, this.socket.client, words(messages));
  }

  /** Nothing is confirmed along with an answer. */
  override takeUnconfirmed(): number {
    return 0;
  }
}
