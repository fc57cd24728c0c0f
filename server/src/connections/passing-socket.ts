import type { ConnectionSocket } from "./connection.ts";

/** A socket that passes everything on to another one: a base class for those that change something. */
export class PassingSocket implements ConnectionSocket {
  protected readonly socket: ConnectionSocket;

  constructor(socket: ConnectionSocket) {
    this.socket = socket;
  }

  send(message: Uint8Array, ...how: [isBinary?: boolean]): number {
    return this.socket.send(message, ...how);
  }

  publish(topic: string, message: Uint8Array, ...how: [isBinary?: boolean]): boolean {
    return this.socket.publish(topic, message, ...how);
  }

  subscribe(topic: string): boolean {
    return this.socket.subscribe(topic);
  }

  unsubscribe(topic: string): boolean {
    return this.socket.unsubscribe(topic);
  }

  end(code?: number, reason?: string): void {
    this.socket.end(code, reason);
  }

  getBufferedAmount(): number {
    return this.socket.getBufferedAmount();
  }
}
