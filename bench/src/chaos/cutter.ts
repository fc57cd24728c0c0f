import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { listening } from "../listening.ts";

/** The end of a connection at the client, and the one at the gateway. */
export type Side = "near" | "far";

const TRICKLE_MS = 10;
const MOST_WAITING_BYTES = 4 << 20;
/** Longest time until a silent break is noticed, by the default heartbeats. */
export const UNNOTICED_MS = 25_000;

/** A way to the gateway on which connections can be broken, told to either side or not, and what passes can be delayed and spoilt. */
export class Cutter {
  /** Time that what passes from now on takes, each way. */
  delayMs = 0;
  /** So many bytes pass in 10 ms, each way; 0 for as many as there are. */
  trickleBytes = 0;
  /** Connections that come now are broken at once. */
  refuses = false;
  /** Whether what passes waits, of connections that come now, too. */
  #isHolding = false;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  #brokenAt = Number.NEGATIVE_INFINITY;
  #held: { readonly mark: string; readonly reached: () => void } | undefined;

  private constructor(port: number) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, near => {
      if (this.refuses) return void near.resetAndDestroy();
      const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
      const connection = new Connection(this, near, far, this.#held);
      if (this.#isHolding) connection.hold();
      this.#connections.add(connection);
      connection.whenGone(() => this.#connections.delete(connection));
    });
  }

  /** @param port the gateway's */
  static async start(port: number): Promise<Cutter> {
    const cutter = new Cutter(port);
    await listening(cutter.#server);
    return cutter;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether one side may use a connection that the other one has no more. */
  get mayBeDead(): boolean {
    return performance.now() - this.#brokenAt < UNNOTICED_MS;
  }

  /** Breaks all connections; both sides are told. */
  cut(): void {
    for (const connection of this.#connections) connection.reset(["near", "far"]);
  }

  /** Breaks all connections, as a network does that has gone: nothing passes any more, and nobody is told. */
  silence(): void {
    this.#brokenAt = performance.now();
    for (const connection of this.#connections) connection.silence();
  }

  /** Lets nothing pass for now, as a network does that is away for a while: what is under way comes later. */
  hold(): void {
    this.#isHolding = true;
    for (const connection of this.#connections) connection.hold();
  }

  /** Breaks all connections; only one side is told. */
  halve(told: Side): void {
    this.#brokenAt = performance.now();
    for (const connection of this.#connections) {
      connection.silence();
      connection.reset([told]);
    }
  }

  /** Flips a bit of what is sent next to this side. @param chance from 0 to less than 1: which bit */
  flip(to: Side, chance: number): void {
    for (const connection of this.#connections) connection.flip(to, chance);
  }

  /** Holds what the client sends once the gateway has sent `mark`, on connections that come from now on. Resolves when it has. */
  holdAt(mark: string): Promise<void> {
    return new Promise(reached => {
      this.#held = { mark, reached };
    });
  }

  /** Nothing is held, delayed or refused any more. What is silent stays so. */
  heal(): void {
    this.#held = undefined;
    this.#isHolding = false;
    this.refuses = false;
    this.delayMs = 0;
    this.trickleBytes = 0;
    for (const connection of this.#connections) connection.heal();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }
}

class Connection {
  readonly #sockets: Record<Side, Socket>;
  readonly #ways: Record<Side, Way>;

  constructor(
    cutter: Cutter,
    near: Socket,
    far: Socket,
    held: { readonly mark: string; readonly reached: () => void } | undefined,
  ) {
    this.#sockets = { near, far };
    const toFar = new Way(cutter, near, far);
    const toNear = new Way(cutter, far, near, held && { ...held, holds: () => toFar.hold() });
    this.#ways = { near: toNear, far: toFar };
  }

  whenGone(gone: () => void): void {
    const { near, far } = this.#sockets;
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on("error", () => {});
      socket.on("close", () => {
        if (other.destroyed) gone();
        else if (!this.#ways.near.isSilent) other.destroy();
      });
    }
  }

  reset(sides: readonly Side[]): void {
    for (const side of sides) this.#sockets[side].resetAndDestroy();
  }

  silence(): void {
    this.#ways.near.silence();
    this.#ways.far.silence();
  }

  flip(to: Side, chance: number): void {
    this.#ways[to].flip(chance);
  }

  hold(): void {
    this.#ways.near.hold();
    this.#ways.far.hold();
  }

  heal(): void {
    this.#ways.near.heal();
    this.#ways.far.heal();
  }
}

/** One direction of a connection. */
class Way {
  isSilent = false;
  readonly #cutter: Cutter;
  readonly #from: Socket;
  readonly #to: Socket;
  /** Bytes that are under way, and when they are to arrive; the end of the stream is undefined. */
  readonly #waiting: { readonly bytes: Buffer | undefined; readonly at: number }[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isHeld = false;
  #isFull = false;
  #flips: number | undefined;
  #watched: { readonly mark: string; readonly reached: () => void; readonly holds: () => void } | undefined;
  /** The end of what has passed, in which a mark may begin. */
  #passed = "";

  constructor(
    cutter: Cutter,
    from: Socket,
    to: Socket,
    watched?: { readonly mark: string; readonly reached: () => void; readonly holds: () => void },
  ) {
    this.#cutter = cutter;
    this.#from = from;
    this.#to = to;
    this.#watched = watched;
    from.on("data", bytes => this.#take(bytes as Buffer));
    from.on("end", () => this.#take(undefined));
    to.on("drain", () => {
      this.#isFull = false;
      this.#pass();
    });
  }

  silence(): void {
    this.isSilent = true;
    this.#waiting.length = 0;
    this.#from.resume();
  }

  hold(): void {
    this.#isHeld = true;
  }

  heal(): void {
    this.#isHeld = false;
    this.#pass();
  }

  flip(chance: number): void {
    this.#flips = chance;
  }

  #take(bytes: Buffer | undefined): void {
    if (this.isSilent) return;
    if (bytes !== undefined) this.#look(bytes);
    this.#waiting.push({ bytes, at: performance.now() + this.#cutter.delayMs });
    this.#waitingBytes += bytes?.length ?? 0;
    if (this.#waitingBytes > MOST_WAITING_BYTES) this.#from.pause();
    this.#pass();
  }

  #look(bytes: Buffer): void {
    if (this.#flips !== undefined) {
      const bit = Math.floor(this.#flips * bytes.length * 8);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      this.#flips = undefined;
    }
    if (this.#watched === undefined) return;
    const { mark, reached, holds } = this.#watched;
    const text = this.#passed + bytes.toString("latin1");
    this.#passed = text.slice(-mark.length);
    if (!text.includes(mark)) return;
    this.#watched = undefined;
    holds();
    reached();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    const { trickleBytes } = this.#cutter;
    while (!this.#isHeld && !this.#isFull && !this.#to.destroyed) {
      const [first] = this.#waiting;
      if (first === undefined) break;
      const waitMs = first.at - performance.now();
      if (waitMs > 0) return this.#passIn(waitMs);
      this.#waiting.shift();
      if (first.bytes === undefined) {
        this.#to.end();
        continue;
      }
      const most = trickleBytes === 0 ? first.bytes.length : trickleBytes;
      const rest = first.bytes.subarray(most);
      if (rest.length > 0) this.#waiting.unshift({ bytes: rest, at: first.at });
      this.#waitingBytes -= first.bytes.length - rest.length;
      this.#isFull = !this.#to.write(first.bytes.subarray(0, most));
      if (trickleBytes > 0) return this.#passIn(TRICKLE_MS);
    }
    if (this.#waitingBytes <= MOST_WAITING_BYTES && this.#from.isPaused()) this.#from.resume();
  }

  #passIn(ms: number): void {
    this.#timer = setTimeout(() => this.#pass(), ms);
  }
}
