import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";

/** Time that a slow way takes for each of its slices. */
const SLICE_MS = 100;

/** A way to the gateway that can be cut, as a network does it: without a word to either side; and slow. */
export class Cutter {
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #sockets: Set<Socket>;
  #isParted = false;
  #bytesPerSecond = Number.POSITIVE_INFINITY;

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
    let bytesPerSecond = (): number => Number.POSITIVE_INFINITY;
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
        if (socket === near) socket.pipe(other);
        else socket.pipe(slowed(() => bytesPerSecond())).pipe(other);
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
    bytesPerSecond = () => cutter.#bytesPerSecond;
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

  /** From now on so much comes from the gateway in a second, and no more. */
  slow(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

function slowed(bytesPerSecond: () => number): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const pass = (at: number): void => {
        if (at >= chunk.length) return done();
        const rate = bytesPerSecond();
        const end = rate === Number.POSITIVE_INFINITY ? chunk.length : at + (rate * SLICE_MS) / 1000;
        this.push(chunk.subarray(at, end));
        if (end >= chunk.length && rate === Number.POSITIVE_INFINITY) done();
        else setTimeout(() => pass(end), SLICE_MS);
      };
      pass(0);
    },
  });
}
