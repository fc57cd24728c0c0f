import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { JechoError } from "@jecho/shared";
import type { CarrierEvents, Carriers, TrunkCarrier } from "./trunk-carrier.ts";

const VERSION = 1;
const NONCE_BYTES = 32;
/** A message's length goes before it. */
const LENGTH_BYTES = 4;
/** Time that the other side has to say who it is. */
const GREETING_MS = 3000;
const GREETING_BYTES = 4096;
/** Interval of signs of life where nothing else is sent, and the silence that is taken for death. */
const BEAT_MS = 500;
const DEAD_MS = 3000;
/** Time until a gateway that is not there is looked for again: a random part of the double of it. */
const AGAIN_MS = 250;
/** Bytes of messages that are gathered for one write. */
const TOGETHER_BYTES = 64 << 10;

export interface TcpCarrierOptions {
  /** `HOST:PORT` of each gateway, in the same order at all of them. */
  readonly members: readonly string[];
  /** Index of this gateway among them. */
  readonly self: number;
  /** What all of them know, and nobody else. */
  readonly secret: string;
  /** Most bytes of a message. */
  readonly limitBytes: number;
  readonly log: (line: string) => void;
}

/** First words of both sides: whoever opens says who it is, and each proves that it knows the secret. */
interface Greeting {
  readonly version: number;
  readonly index: number;
  readonly nonce: string;
  readonly proof: string;
}

/** Carriers by TCP, with a listening socket of their own: for gateways that nobody else can reach there. */
export class TcpCarriers implements Carriers {
  readonly #options: TcpCarrierOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;
  #accepted: ((index: number, carrier: TrunkCarrier) => CarrierEvents) | undefined;

  constructor(options: TcpCarrierOptions) {
    this.#options = options;
    this.#server = createServer({ noDelay: true }, socket => this.#accept(socket));
  }

  /** @throws JechoError `ARGUMENT_INVALID` where this gateway cannot listen at its address */
  async start(
    opened: (index: number, carrier: TrunkCarrier) => CarrierEvents,
    accepted: (index: number, carrier: TrunkCarrier) => CarrierEvents,
  ): Promise<void> {
    this.#accepted = accepted;
    const { members, self } = this.#options;
    const [host, port] = addressOf(members[self] as string);
    try {
      this.#server.listen({ host, port, exclusive: true });
      await once(this.#server, "listening");
    } catch (error) {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `the cluster cannot be reached at ${members[self]}: ${(error as Error).message}`,
      );
    }
    for (const index of members.keys()) if (index !== self) this.#open(index, opened);
  }

  /** The port that is listened at. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  #open(index: number, opened: (index: number, carrier: TrunkCarrier) => CarrierEvents): void {
    const [host, port] = addressOf(this.#options.members[index] as string);
    const socket = connect({ host, port, noDelay: true });
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    this.#hold(socket, () =>
      this.#later(2 * AGAIN_MS * Math.random(), () => {
        if (!this.#isStopped) this.#open(index, opened);
      }),
    );
    const messages = new Messages(socket, this.#options.limitBytes);
    messages.next(message => {
      const { nonce: theirs } = greetingOf(message);
      messages.send([this.#greeting(nonce, this.#proof("opens", theirs, nonce, this.#options.self))]);
      messages.next(answer => {
        this.#check(greetingOf(answer), this.#proof("takes", nonce, theirs, index), index);
        messages.begin(opened(index, messages));
      });
    });
  }

  #accept(socket: Socket): void {
    if (this.#isStopped) return void socket.destroy();
    this.#hold(socket, () => {});
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    const messages = new Messages(socket, this.#options.limitBytes);
    messages.send([this.#greeting(nonce, "")]);
    messages.next(message => {
      const greeting = greetingOf(message);
      this.#check(greeting, this.#proof("opens", nonce, greeting.nonce, greeting.index), greeting.index);
      messages.send([this.#greeting(nonce, this.#proof("takes", greeting.nonce, nonce, this.#options.self))]);
      if (this.#accepted !== undefined) messages.begin(this.#accepted(greeting.index, messages));
    });
  }

  #greeting(nonce: string, proof: string): Uint8Array {
    return Buffer.from(JSON.stringify({ version: VERSION, index: this.#options.self, nonce, proof }));
  }

  #proof(side: "opens" | "takes", theirs: string, ours: string, index: number): string {
    const { secret, members } = this.#options;
    return createHmac("sha256", secret)
      .update(JSON.stringify([side, theirs, ours, index, members]))
      .digest("hex");
  }

  #check({ version, proof, index }: Greeting, expected: string, from: number): void {
    const { members, self, log } = this.#options;
    const [given, wanted] = [Buffer.from(proof), Buffer.from(expected)];
    const isKnown =
      version === VERSION &&
      index === from &&
      index !== self &&
      members[index] !== undefined &&
      given.byteLength === wanted.byteLength &&
      timingSafeEqual(given, wanted);
    if (isKnown) return;
    log(
      `the gateway ${members[from] ?? from} does not belong to this cluster: its version, its secret or its list of members is another`,
    );
    throw new JechoError("TOKEN_INVALID", "it does not belong to this cluster");
  }

  #hold(socket: Socket, closed: () => void): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      closed();
    });
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer.unref());
  }
}

/** Messages on a socket, each behind its length. A message without bytes is a sign of life. */
class Messages implements TrunkCarrier {
  readonly #socket: Socket;
  #limitBytes = GREETING_BYTES;
  #events: CarrierEvents | undefined;
  #next: ((message: Uint8Array) => void) | undefined;
  readonly #length = new Uint8Array(LENGTH_BYTES);
  #lengthBytes = 0;
  #message: Uint8Array | undefined;
  #filled = 0;
  #heardAt = performance.now();
  #sentAt = performance.now();
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  readonly #beat: NodeJS.Timeout;

  constructor(socket: Socket, limitBytes: number) {
    this.#socket = socket;
    const greeting = setTimeout(() => socket.destroy(), GREETING_MS).unref();
    this.#beat = setInterval(() => this.#look(), BEAT_MS).unref();
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("drain", () => this.#events?.drained());
    socket.on("close", () => {
      clearTimeout(greeting);
      clearInterval(this.#beat);
      this.#events?.ended();
      this.#events = undefined;
    });
    this.begin = events => {
      clearTimeout(greeting);
      this.#limitBytes = limitBytes;
      this.#events = events;
    };
  }

  /** Takes messages as they come from now on. */
  readonly begin: (events: CarrierEvents) => void;

  /** Calls back with the next message alone. */
  next(act: (message: Uint8Array) => void): void {
    this.#next = act;
  }

  get waitingBytes(): number {
    return this.#socket.writableLength + this.#gatheredBytes;
  }

  send(parts: readonly Uint8Array[]): void {
    let bytes = 0;
    for (const part of parts) bytes += part.byteLength;
    const whole = new Uint8Array(LENGTH_BYTES + bytes);
    new DataView(whole.buffer).setUint32(0, bytes, true);
    let at = LENGTH_BYTES;
    for (const part of parts) {
      whole.set(part, at);
      at += part.byteLength;
    }
    this.#gathered.push(whole);
    this.#gatheredBytes += whole.byteLength;
    if (this.#gathered.length === 1) queueMicrotask(() => this.#write());
    else if (this.#gatheredBytes > TOGETHER_BYTES) this.#write();
  }

  end(): void {
    this.#socket.destroy();
  }

  #write(): void {
    if (this.#gathered.length === 0) return;
    this.#sentAt = performance.now();
    this.#socket.cork();
    for (const message of this.#gathered) this.#socket.write(message);
    this.#socket.uncork();
    this.#gathered = [];
    this.#gatheredBytes = 0;
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#heardAt > DEAD_MS) return this.end();
    if (now - this.#sentAt >= BEAT_MS) this.send([]);
  }

  #take(bytes: Buffer): void {
    this.#heardAt = performance.now();
    try {
      for (let at = 0; at < bytes.byteLength; ) at += this.#takeSome(bytes, at);
    } catch {
      this.end();
    }
  }

  /** @returns how many bytes it has taken */
  #takeSome(bytes: Buffer, at: number): number {
    if (this.#message === undefined) {
      const taken = Math.min(LENGTH_BYTES - this.#lengthBytes, bytes.byteLength - at);
      this.#length.set(bytes.subarray(at, at + taken), this.#lengthBytes);
      this.#lengthBytes += taken;
      if (this.#lengthBytes < LENGTH_BYTES) return taken;
      this.#lengthBytes = 0;
      const length = new DataView(this.#length.buffer).getUint32(0, true);
      if (length > this.#limitBytes) throw new JechoError("FRAME_TOO_LARGE");
      if (length > 0) {
        this.#message = new Uint8Array(length);
        this.#filled = 0;
      }
      return taken;
    }
    const message = this.#message;
    const taken = Math.min(message.byteLength - this.#filled, bytes.byteLength - at);
    message.set(bytes.subarray(at, at + taken), this.#filled);
    this.#filled += taken;
    if (this.#filled === message.byteLength) {
      this.#message = undefined;
      this.#whole(message);
    }
    return taken;
  }

  #whole(message: Uint8Array): void {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) next(message);
    else this.#events?.message(message);
  }
}

function greetingOf(message: Uint8Array): Greeting {
  return JSON.parse(Buffer.from(message).toString()) as Greeting;
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function addressOf(member: string): [host: string, port: number] {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(member) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new JechoError(
      "ARGUMENT_INVALID",
      `"${member}" is no member of a cluster; one is like 10.0.0.1:7222`,
    );
  return [host, Number(port)];
}
