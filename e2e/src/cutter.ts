import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to the gateway that can be cut, as a network does it: without a word to either side. */
export class Cutter {
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #sockets: Set<Socket>;
  #isParted = false;

  private constructor(url: string, sockets: Set<Socket>, close: () => Promise<void>) {
    this.url = url;
    this.#sockets = sockets;
    this.#close = close;
  }

  /** @param url the page's address, to which everything goes on */
  static async start(url: string): Promise<Cutter> {
    const { hostname, port } = new URL(url);
    const sockets = new Set<Socket>();
    let isParted = (): boolean => false;
    const server = createServer(near => {
      near.on("error", () => {});
      if (isParted()) return near.resetAndDestroy();
      const far = connect(Number(port), hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket);
        socket.setNoDelay(true);
        socket.pipe(other);
        socket.on("error", () => {});
        socket.on("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      return undefined;
    }).listen(0, "localhost");
    await once(server, "listening");
    const here = `http://localhost:${(server.address() as AddressInfo).port}/`;
    const cutter = new Cutter(here, sockets, async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    });
    isParted = () => cutter.#isParted;
    return cutter;
  }

  /** Breaks every connection and lets no new one through until `join`. */
  part(): void {
    this.#isParted = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  join(): void {
    this.#isParted = false;
  }

  close(): Promise<void> {
    return this.#close();
  }
}
