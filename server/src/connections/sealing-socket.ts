import type { Sealer } from "@jecho/shared/internal";
import type { ConnectionSocket } from "./connection.ts";

/** A connection's socket where each message has its checksum behind it. */
export class SealingSocket implements ConnectionSocket {
  readonly #socket: ConnectionSocket;
  /** One sealer for all sockets of a gateway: uWebSockets.js copies messages that it does not send at once. */
  readonly #sealer: Sealer;

  constructor(socket: ConnectionSocket, sealer: Sealer) {
    this.#socket = socket;
    this.#sealer = sealer;
  }

  send(message: Uint8Array, ...how: [isBinary?: boolean]): number {
    return this.#socket.send(this.#sealer.seal(message), ...how);
  }

  publish(topic: string, message: Uint8Array, ...how: [isBinary?: boolean]): boolean {
    return this.#socket.publish(topic, this.#sealer.seal(message), ...how);
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
