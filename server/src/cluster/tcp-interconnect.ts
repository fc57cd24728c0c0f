import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { JechoError } from "@jecho/shared";
import { identityFrom } from "./identities.ts";
import type { ClusterEvents, Interconnect } from "./interconnect.ts";
import { inStream, TrunkReader } from "./message-stream.ts";
import { MOST_GATEWAYS } from "./numbers.ts";
import { type CarrierEvents, FINISH_MS, MOST_WAITING_BYTES, type TrunkCarrier } from "./trunk-carrier.ts";

/** Gateways that know one another's addresses. */
export interface TcpClusterOptions {
  /**
   * Where each gateway is reached by the others, `HOST:PORT`, in the same order at all of them; at most 256. Nobody else should be able to reach these ports, for
   * what goes there is not encrypted.
   */
  readonly members: readonly string[];
  /** The one of `members` that this gateway is. */
  readonly self: string;
  /** A file with at least 16 characters that all of them know, and nobody else. */
  readonly secretFile: string;
}

/** Least length of a secret, in characters. */
const LEAST_SECRET = 16;

const VERSION = 4;
const NONCE_BYTES = 32;
/** Time that the other side has to say who it is. */
const GREETING_MS = 3000;
const GREETING_BYTES = 4096;
/** Interval of signs of life where nothing else is sent, and the silence that is taken for death. */
const BEAT_MS = 500;
const DEAD_MS = 3000;
/** Time until a gateway that is not there is looked for again, unless it comes by itself: a random part of the double of it. */
const AGAIN_MS = 250;
/** Least time between two lines in the log about one gateway that does not belong here. */
const TOLD_MS = 10_000;
/** Bytes of messages that are gathered for one write. */
const TOGETHER_BYTES = 64 << 10;

/** First words of both sides: whoever opens says who it is, and each proves that it knows the secret. */
interface Greeting {
  readonly version: number;
  readonly index: number;
  readonly nonce: string;
  readonly proof: string;
}

/** Carriers by TCP, with a listening socket of their own: for gateways that nobody else can reach there. Those that a carrier leads to are the members. */
export class TcpInterconnect implements Interconnect {
  readonly self: number;
  readonly identity: string;
  readonly homes: number | undefined;
  /** Whoever is cut off from the others goes on alone. */
  readonly isMember = true;
  readonly #members: readonly string[];
  readonly #secret: string;
  readonly #log: (line: string) => void;
  readonly #server: Server;
  /** Carriers, and those that may become some. */
  readonly #carriers = new Set<Messages>();
  /** Gateways that are not there, by their indices, each with the time until it is looked for again. */
  readonly #missing = new Map<number, NodeJS.Timeout>();
  /** When it was last logged that a gateway does not belong here, by its index; -1: of those that no member has. */
  readonly #toldAt = new Map<number, number>();
  #isStopped = false;
  #events: ClusterEvents | undefined;

  private constructor(
    { members, self }: TcpClusterOptions,
    secret: string,
    hasFile: boolean,
    log: (line: string) => void,
  ) {
    this.self = members.indexOf(self);
    this.homes = hasFile ? members.length : undefined;
    this.#members = members;
    this.#secret = secret;
    this.#log = log;
    this.identity = identityFrom(JSON.stringify([hasFile ? members.length : members, secret]));
    this.#server = createServer({ noDelay: true }, socket => this.#accept(socket));
  }

  /**
   * @param hasFile whether it keeps histories in a file
   * @throws JechoError `ARGUMENT_INVALID` where the options are none
   */
  static async open(
    options: TcpClusterOptions,
    hasFile: boolean,
    log: (line: string) => void,
  ): Promise<TcpInterconnect> {
    const { members, self, secretFile } = options;
    const fail = (why: string): never => {
      throw new JechoError("ARGUMENT_INVALID", `cluster: ${why}`);
    };
    if (members.length > MOST_GATEWAYS) fail(`it has at most ${MOST_GATEWAYS} members`);
    for (const member of members) addressOf(member);
    if (new Set(members).size < members.length) fail("a member is there twice");
    if (!members.includes(self)) fail(`"${self}" is none of its members (${members.join(", ")})`);
    const secret = await readFile(secretFile, "utf8").then(
      text => text.trim(),
      (error: Error) => fail(error.message),
    );
    if (secret.length < LEAST_SECRET) fail(`its secret has at least ${LEAST_SECRET} characters`);
    return new TcpInterconnect(options, secret, hasFile, log);
  }

  nameOf(index: number): string {
    return this.#members[index] ?? String(index);
  }

  /** Gateways of a list store nothing for one another. */
  async openHistory(): Promise<undefined> {}

  async start(events: ClusterEvents): Promise<void> {
    this.#events = events;
    const own = this.nameOf(this.self);
    const [host, port] = addressOf(own);
    try {
      this.#server.listen({ host, port, exclusive: true });
      await once(this.#server, "listening");
    } catch (error) {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `the cluster cannot be reached at ${own}: ${(error as Error).message}`,
      );
    }
    const others = [...this.#members.keys()].filter(index => index !== this.self);
    await Promise.all(others.map(index => new Promise<void>(tried => this.#open(index, events, tried))));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#missing.values()) clearTimeout(timer);
    await Promise.all(Array.from(this.#carriers, carrier => carrier.finish()));
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  /** @param tried called when it is known whether the other is there */
  #open(index: number, cluster: ClusterEvents, tried: () => void = () => {}): void {
    clearTimeout(this.#missing.get(index));
    this.#missing.delete(index);
    if (this.#isStopped) return tried();
    const [host, port] = addressOf(this.nameOf(index));
    const socket = connect({ host, port, noDelay: true });
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    const messages = this.#hold(socket, () => {
      const again = setTimeout(() => this.#open(index, cluster), 2 * AGAIN_MS * Math.random()).unref();
      this.#missing.set(index, again);
      tried();
    });
    messages.next(message => {
      const { nonce: theirs } = greetingOf(message);
      messages.send([this.#greeting(nonce, this.#proof("opens", theirs, nonce, this.self, index))]);
      messages.next(answer => {
        this.#check(greetingOf(answer), this.#proof("takes", nonce, theirs, index, this.self), index);
        const events = cluster.opened(index, messages);
        const ended = (): void => {
          events.ended();
          if (!this.#isStopped) cluster.left(index);
        };
        messages.begin({ message: bytes => events.message(bytes), drained: () => events.drained(), ended });
        cluster.came(index);
        tried();
      });
    });
  }

  #accept(socket: Socket): void {
    if (this.#isStopped) return void socket.destroy();
    const messages = this.#hold(socket, () => {});
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    messages.send([this.#greeting(nonce, "")]);
    messages.next(message => {
      const greeting = greetingOf(message);
      const { index, nonce: theirs } = greeting;
      this.#check(greeting, this.#proof("opens", nonce, theirs, index, this.self), index);
      messages.send([this.#greeting(nonce, this.#proof("takes", theirs, nonce, this.self, index))]);
      if (this.#events === undefined) return;
      messages.begin(this.#events.accepted(index, messages));
      // All hear of it at the same time: who moves to it leaves nothing behind with who has not.
      if (this.#missing.has(index)) this.#open(index, this.#events);
    });
  }

  #greeting(nonce: string, proof: string): Uint8Array {
    return Buffer.from(JSON.stringify({ version: VERSION, index: this.self, nonce, proof }));
  }

  /** The proof that one gateway gives another: nobody can use it elsewhere. */
  #proof(side: "opens" | "takes", theirs: string, ours: string, from: number, to: number): string {
    return createHmac("sha256", this.#secret)
      .update(JSON.stringify([side, theirs, ours, from, to, this.#members, this.homes]))
      .digest("hex");
  }

  #check({ version, proof, index }: Greeting, expected: string, from: number): void {
    const [given, wanted] = [Buffer.from(proof), Buffer.from(expected)];
    const isKnown =
      version === VERSION &&
      index === from &&
      index !== this.self &&
      this.#members[index] !== undefined &&
      given.byteLength === wanted.byteLength &&
      timingSafeEqual(given, wanted);
    if (isKnown) return;
    this.#tell(from);
    throw new JechoError("TOKEN_INVALID", "it does not belong to this cluster");
  }

  /** Logs that a gateway does not belong here: whoever reaches the address can say so of any, as often as he likes. */
  #tell(index: number): void {
    const of = this.#members[index] === undefined ? -1 : index;
    const now = performance.now();
    if (now - (this.#toldAt.get(of) ?? Number.NEGATIVE_INFINITY) < TOLD_MS) return;
    this.#toldAt.set(of, now);
    this.#log(
      `the gateway ${this.nameOf(index)} does not belong to this cluster: its version, its secret, its list of members, or whether it keeps histories in a file is another`,
    );
  }

  #hold(socket: Socket, closed: () => void): Messages {
    const messages = new Messages(socket);
    this.#carriers.add(messages);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#carriers.delete(messages);
      closed();
    });
    return messages;
  }
}

/** Messages on a socket, each behind its length. A message without bytes is a sign of life. */
class Messages implements TrunkCarrier {
  readonly #socket: Socket;
  readonly #reader = new TrunkReader(message => this.#whole(message), GREETING_BYTES);
  #events: CarrierEvents | undefined;
  #next: ((message: Uint8Array) => void) | undefined;
  /** Looks since something was heard: one, however long this process itself stood still. */
  #silentLooks = 0;
  #sentAt = performance.now();
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #isFinishing = false;
  readonly #beat: NodeJS.Timeout;

  constructor(socket: Socket) {
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
      this.#reader.limitBytes = MOST_WAITING_BYTES;
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
    const whole = inStream(parts);
    this.#gathered.push(whole);
    this.#gatheredBytes += whole.byteLength;
    if (this.waitingBytes > MOST_WAITING_BYTES) return this.end();
    if (this.#gathered.length === 1) queueMicrotask(() => this.#write());
    else if (this.#gatheredBytes > TOGETHER_BYTES) this.#write();
  }

  end(): void {
    this.#socket.destroy();
  }

  /** Takes nothing more, and ends it when what waits has gone out: at once where the other side is no gateway yet, or after `FINISH_MS` where it takes nothing. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    this.#write();
    if (this.#events === undefined) this.end();
    else this.#socket.end();
    const late = setTimeout(() => this.end(), FINISH_MS);
    if (!this.#socket.closed) await new Promise(resolve => this.#socket.once("close", resolve));
    clearTimeout(late);
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
    if (++this.#silentLooks > DEAD_MS / BEAT_MS) return this.end();
    const now = performance.now();
    if (now - this.#sentAt >= BEAT_MS && !this.#isFinishing) this.send([]);
  }

  #take(bytes: Buffer): void {
    this.#silentLooks = 0;
    if (this.#isFinishing) return;
    try {
      this.#reader.take(bytes);
    } catch {
      this.end();
    }
  }

  #whole(message: Uint8Array): void {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) next(message);
    else this.#events?.message(message);
  }
}

/** @throws SyntaxError, TypeError where it is none */
function greetingOf(message: Uint8Array): Greeting {
  const said = JSON.parse(Buffer.from(message).toString()) as Partial<Greeting> | null;
  const { version, index, nonce, proof } = said ?? {};
  const areNumbers = Number.isInteger(version) && Number.isInteger(index);
  if (!areNumbers || typeof nonce !== "string" || typeof proof !== "string")
    throw new TypeError("it is no greeting");
  return { version, index, nonce, proof } as Greeting;
}

/** @throws JechoError `ARGUMENT_INVALID` */
function addressOf(member: string): [host: string, port: number] {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(member) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new JechoError(
      "ARGUMENT_INVALID",
      `"${member}" is no member of a cluster; one is like 10.0.0.1:7222`,
    );
  return [host, Number(port)];
}
