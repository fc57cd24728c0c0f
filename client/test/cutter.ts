import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a gateway that can be cut, as a network does it: without a word to either side. */
export interface Cutter {
  /** `HOST:PORT` to connect to instead of the gateway's. */
  readonly address: string;
  /** Breaks every connection; new ones can be made. */
  cut(): void;
  /** Breaks every connection and lets no new one through until `join`. */
  part(): void;
  join(): void;
  /** Lets nothing more through from the gateway, as a client does that has stopped reading; and again. */
  stall(): void;
  flow(): void;
  /** Lets nothing more through to the gateway, as a slow network; and what was kept back. */
  hold(): void;
  release(): void;
  /** Flips a bit of the next frame that the gateway sends. */
  garble(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startCutter(target: string): Promise<Cutter> {
  const [host, port] = target.split(":") as [string, string];
  const sockets = new Set<Socket>();
  let isParted = false;
  let isStalled = false;
  let isHeld = false;
  let isGarbling = false;
  const pairs = new Set<readonly [near: Socket, far: Socket]>();
  const server = createServer(near => {
    if (isParted) {
      near.on("error", () => {});
      near.resetAndDestroy();
      return;
    }
    const far = connect(Number(port), host);
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on("close", () => pairs.delete(pair));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      if (socket === far)
        socket.prependListener("data", (bytes: Buffer) => {
          // A message of the server's has a header of 2 or 4 bytes; behind it lies the size of its first frame.
          if (!isGarbling || bytes[0] !== 0x82) return;
          isGarbling = false;
          const size = (bytes[1] as number) < 126 ? 2 : 4;
          bytes[size] = (bytes[size] as number) ^ 1;
        });
      if (socket === near ? !isHeld : !isStalled) socket.pipe(other);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    part: () => {
      isParted = true;
      cut();
    },
    stall: () => {
      isStalled = true;
      for (const [near, far] of pairs) far.unpipe(near);
    },
    flow: () => {
      isStalled = false;
      for (const [near, far] of pairs) far.pipe(near);
    },
    hold: () => {
      isHeld = true;
      for (const [near, far] of pairs) near.unpipe(far);
    },
    release: () => {
      isHeld = false;
      for (const [near, far] of pairs) near.pipe(far);
    },
    garble: () => {
      isGarbling = true;
    },
    join: () => {
      isParted = false;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      await once(server, "close");
    },
  };
}
