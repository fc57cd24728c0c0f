import type { Gateway } from "@jecho/server";
import {
  encodeControl,
  type Frame,
  joinFrames,
  type Outgoing,
  PROTOCOL,
  parseMessage,
  SUBPROTOCOL,
} from "@jecho/shared/internal";
import { expect } from "vitest";

/** A bare WebSocket that speaks frames, for saying what no well-behaved client would. */
export class RawClient {
  readonly frames: Frame[] = [];
  /** The kinds of frames of each message, in order. */
  readonly messages: Frame["kind"][][] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;

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
    };
    this.closed = new Promise(resolve => {
      socket.onclose = ({ code, reason }) => resolve({ code, reason });
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

  async next<K extends Frame["kind"]>(kind: K): Promise<Extract<Frame, { kind: K }>> {
    await expect.poll(() => this.frames.some(frame => frame.kind === kind)).toBe(true);
    const at = this.frames.findIndex(frame => frame.kind === kind);
    return this.frames.splice(at, 1)[0] as Extract<Frame, { kind: K }>;
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
