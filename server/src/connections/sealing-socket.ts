import type { Sealer } from "@jecho/shared/internal";
import type { ConnectionSocket } from "./connection.ts";
import { PassingSocket } from "./passing-socket.ts";

/** A connection's socket that adds a checksum to each message. */
export class SealingSocket extends PassingSocket {
  /** One sealer for all sockets of a gateway: uWebSockets.js copies messages that it does not send at once. */
  readonly #sealer: Sealer;

  constructor(socket: ConnectionSocket, sealer: Sealer) {
    super(socket);
    this.#sealer = sealer;
  }

  override send(message: Uint8Array, ...how: [isBinary?: boolean]): number {
    return super.send(this.#sealer.seal(message), ...how);
  }

  override publish(topic: string, message: Uint8Array, ...how: [isBinary?: boolean]): boolean {
    return super.publish(topic, this.#sealer.seal(message), ...how);
  }
}
