import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The longest header of a message that is masked. */
const HEADER_BYTES = 14;
/** How often a slow way lets something through. */
const SLICE_MS = 100;

/** A way to a gateway that can be cut, as a network does it: without a word to either side; and slow. */
export interface Cutter extends AsyncDisposable {
  /** `HOST:PORT` to connect to instead of the gateway's. */
  readonly address: string;
  /** The same, for pages. */
  readonly url: string;
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
  /** Bytes that are kept back on the way to the gateway. */
  readonly heldBytes: number;
  /** From now on so much comes from the gateway in a second, and no more; with Infinity as much as there is. */
  slow(bytesPerSecond: number): void;
  /** Flips a bit of the next frame that the gateway sends. */
  garble(): void;
  /** Flips a bit of what goes to or comes from the gateway next. @param chance from 0 to less than 1: which one, behind where a header may be */
  flip(way: "to" | "from", chance: number): void;
}

/** @param target the gateway's address or URL, to which everything goes on */
export async function startCutter(target: string): Promise<Cutter> {
  const { hostname, port } = new URL(target.includes("://") ? target : `http://${target}`);
  const pairs = new Set<readonly [near: Socket, far: Socket]>();
  let isParted = false;
  let isStalled = false;
  let isHeld = false;
  let isGarbling = false;
  const flips = { to: -1, from: -1 };
  let slices: NodeJS.Timeout | undefined;
  const server = createServer(near => {
    near.on("error", () => {});
    if (isParted) return void near.resetAndDestroy();
    const far = connect(Number(port), hostname);
    far.on("error", () => {});
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [socket, other] of [pair, [far, near]] as const) {
      socket.setNoDelay(true);
      const way = socket === near ? "to" : "from";
      socket.prependListener("data", (bytes: Buffer) => {
        const chance = flips[way];
        if (chance < 0 || bytes.length <= HEADER_BYTES) return;
        flips[way] = -1;
        const bit = HEADER_BYTES * 8 + Math.floor(chance * (bytes.length - HEADER_BYTES) * 8);
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      });
      socket.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    far.prependListener("data", (bytes: Buffer) => {
      // A message of the server's has a header of 2 or 4 bytes; behind it lies the size of its first frame.
      if (!isGarbling || bytes[0] !== 0x82) return;
      isGarbling = false;
      const size = (bytes[1] as number) < 126 ? 2 : 4;
      bytes[size] = (bytes[size] as number) ^ 1;
    });
    if (isHeld) near.pause();
    else near.pipe(far);
    if (isStalled || slices !== undefined) far.pause();
    else far.pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
  };
  const flow = (): void => {
    isStalled = false;
    for (const [near, far] of pairs) far.pipe(near);
  };
  const stall = (): void => {
    isStalled = true;
    for (const [near, far] of pairs) far.unpipe(near);
  };
  return {
    address: `127.0.0.1:${own}`,
    url: `http://localhost:${own}/`,
    cut,
    part: () => {
      isParted = true;
      cut();
    },
    join: () => {
      isParted = false;
    },
    stall,
    flow,
    hold: () => {
      isHeld = true;
      for (const [near, far] of pairs) near.unpipe(far);
    },
    get heldBytes() {
      return [...pairs].reduce((sum, [near]) => sum + near.readableLength, 0);
    },
    release: () => {
      isHeld = false;
      for (const [near, far] of pairs) near.pipe(far);
    },
    slow: bytesPerSecond => {
      clearInterval(slices);
      slices = undefined;
      if (bytesPerSecond === Number.POSITIVE_INFINITY) return flow();
      for (const [near, far] of pairs) far.unpipe(near);
      const most = (bytesPerSecond * SLICE_MS) / 1000;
      slices = setInterval(() => {
        for (const [near, far] of pairs) {
          // A stream that was made paused reads nothing until it is asked to.
          const slice = far.read(Math.min(most, far.readableLength));
          if (slice !== null) near.write(slice);
        }
      }, SLICE_MS);
    },
    garble: () => {
      isGarbling = true;
    },
    flip: (way, chance) => {
      flips[way] = chance;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(slices);
      server.close();
      cut();
      await once(server, "close");
    },
  };
}
