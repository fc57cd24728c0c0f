import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A way to the gateway whose connections can be broken without a word to either side. */
export class Cutter {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer(near => {
      const far = connect(port, "127.0.0.1");
      this.#join(near, far);
      this.#join(far, near);
    });
  }

  /** @param port the gateway's */
  static async start(port: number): Promise<Cutter> {
    const cutter = new Cutter(port);
    cutter.#server.listen(0, "127.0.0.1");
    await once(cutter.#server, "listening");
    return cutter;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #join(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.pipe(other);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      other.destroy();
    });
  }
}
