import type { Gateway } from "@jecho/server";
import {
  encodeControl,
  encodeRun,
  type Frame,
  joinFrames,
  type Outgoing,
  PROTOCOL,
  parseMessage,
  type RunHeader,
  SUBPROTOCOL,
} from "@jecho/shared/internal";

/** A modulator of which nothing is said. */
export const modulator = {
  source: "",
  parameters: "",
  key: "",
  objects: [],
  capabilities: [],
  compares: false,
};

/** A run of these events; default: of one of 8 bytes. @param header what is not said is 0 */
export function encodedRun(
  header: Pick<RunHeader, "channel" | "producer" | "raised"> & Partial<RunHeader>,
  ...events: readonly Uint8Array[]
): Uint8Array {
  const all = events.length === 0 ? [new Uint8Array(8)] : events;
  return encodeRun(
    { token: 0n, parameters: 0, flags: 0, ...header },
    all.map(bytes => ({ bytes, start: 0, end: bytes.byteLength })),
  );
}

/** A bare WebSocket that speaks frames, for saying what no well-behaved client would. */
export class RawClient {
  readonly frames: Frame[] = [];
  /** The kinds of frames of each message, in order. */
  readonly messages: Frame["kind"][][] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  /** Settled by the next message, or the end of the connection. */
  #further = Promise.withResolvers<void>();

  /** Made by `connect`. */
  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      const kinds: Frame["kind"][] = [];
      this.messages.push(kinds);
      parseMessage(new Uint8Array(data), frame => {
        kinds.push(frame.kind);
        this.frames.push(frame);
      });
      this.#further.resolve();
      this.#further = Promise.withResolvers();
    };
    this.closed = new Promise(resolve => {
      socket.onclose = ({ code, reason }) => {
        this.#further.promise.catch(() => {});
        this.#further.reject(new Error(`the connection ended: ${code} ${reason}`));
        resolve({ code, reason });
      };
    });
  }

  /** @param token with which it greets; false: it does not */
  static async connect<C extends RawClient>(
    this: new (
      socket: WebSocket,
    ) => C,
    gateway: Gateway,
    token: string | false = "",
  ): Promise<C> {
    const socket = new WebSocket(`ws://${gateway.address}/`, SUBPROTOCOL);
    const client = new this(socket);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    if (token !== false) {
      client.say({ kind: "Hello", protocol: PROTOCOL, name: "raw", token });
      await client.next("Welcome");
    }
    return client;
  }

  send(message: Uint8Array | string): void {
    this.#socket.send(message as Uint8Array<ArrayBuffer>);
  }

  /** Sends control frames, several in one message. */
  say(...frames: readonly Outgoing[]): void {
    this.send(joinFrames(frames.map(encodeControl)));
  }

  /** Takes the first frame of these kinds, which may have come already. */
  async next<K extends Frame["kind"]>(...kinds: K[]): Promise<Extract<Frame, { kind: K }>> {
    for (;;) {
      const at = this.frames.findIndex(({ kind }) => kinds.includes(kind as K));
      if (at >= 0) return this.frames.splice(at, 1)[0] as Extract<Frame, { kind: K }>;
      await this.#further.promise;
    }
  }

  async isAlive(): Promise<void> {
    this.say({ kind: "Ping", time: 1 });
    await this.next("Pong");
  }

  /** Ends without taking leave, as who may come back. */
  async cut(): Promise<void> {
    this.#socket.close(4000);
    await this.closed;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
