import type { Sealer } from "@jecho/shared/internal";
import type { ConnectionSocket } from "./connection.ts";

/** A socket that passes everything on to another one: messages with a checksum, and those to many to clients of other gateways, too. */
export class PassingSocket implements ConnectionSocket {
  readonly #socket: ConnectionSocket;
  /** One sealer for all sockets of a gateway: uWebSockets.js copies messages that it does not send at once. */
  readonly #sealer: Sealer | undefined;
  readonly #others: { publish(topic: string, message: Uint8Array): void } | undefined;

  /**
   * @param sealer undefined where messages have no checksums
   * @param others the other gateways; undefined where there are none
   */
  constructor(
    socket: ConnectionSocket,
    sealer: Sealer | undefined,
    others: { publish(topic: string, message: Uint8Array): void } | undefined,
  ) {
    this.#socket = socket;
    this.#sealer = sealer;
    this.#others = others;
  }

  send(message: Uint8Array, isBinary?: boolean): number {
    return this.#socket.send(this.#sealer?.seal(message) ?? message, isBinary);
  }

  publish(topic: string, message: Uint8Array, isBinary?: boolean): boolean {
    this.#others?.publish(topic, message);
    return this.#socket.publish(topic, this.#sealer?.seal(message) ?? message, isBinary);
  }

  subscribe(topic: string): boolean {
    return this.#socket.subscribe(topic);
  }

  unsubscribe(topic: string): boolean {
    return this.#socket.unsubscribe(topic);
  }

  end(code?: number, reason?: string): void {
    this.#socket.end(code, reason);
  }

  getBufferedAmount(): number {
    return this.#socket.getBufferedAmount();
  }
}
