// A part of many subscribers that do nothing but stay, and come back when their server has gone and is there again.
import { setTimeout as delay } from "node:timers/promises";
import type { Kind } from "../dialects.ts";
import { clientFrame, headerOf, OPCODE, type RawWebSocket } from "../raw-websocket.ts";
import { openSubscriber } from "../subscriber.ts";
import { serve } from "../worker.ts";

export interface OpenIdlers {
  readonly kind: Kind;
  readonly port: number;
  readonly connections: number;
  /** Number of this part: on Linux each has source addresses, and so ports, of its own. */
  readonly part: number;
}

const CONNECT_AT_ONCE = 100;
const PER_ADDRESS = 20_000;
const RETRY_MS = 20;
const RETRIES = 1500;
const PONG = clientFrame(OPCODE.pong, new Uint8Array(0));

let options: OpenIdlers;
let open = 0;
let wanted = 0;
let next = 0;
let whenAllGone: () => void = () => {};

function keep(raw: RawWebSocket): void {
  const { socket } = raw;
  open++;
  raw.take = (bytes, from, to) => {
    // Nothing comes but now and then a ping.
    if (headerOf(bytes, from, to)?.opcode === OPCODE.ping) socket.write(PONG);
  };
  socket.once("close", () => {
    if (--open === 0) whenAllGone();
  });
}

async function connectOne(retries: number): Promise<void> {
  const { kind, port, part } = options;
  const address = `127.0.${part + 1}.${1 + Math.floor(next++ / PER_ADDRESS)}`;
  for (let tried = 0; ; tried++) {
    try {
      return keep(await openSubscriber(kind, port, process.platform === "linux" ? address : undefined));
    } catch (error) {
      if (tried >= retries) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** So many at a time, as soon as one before is there. */
async function connectAll(count: number, retries: number): Promise<void> {
  let left = count;
  const chain = async (): Promise<void> => {
    while (left-- > 0) await connectOne(retries);
  };
  await Promise.all(Array.from({ length: Math.min(CONNECT_AT_ONCE, count) }, chain));
}

serve({
  /** Adds so many. */
  open(asked: OpenIdlers) {
    options = asked;
    wanted += asked.connections;
    return connectAll(asked.connections, 0);
  },
  /** Waits until all have lost their connection, and brings them back; they try again and again meanwhile. */
  async back() {
    if (open > 0)
      await new Promise<void>(resolve => {
        whenAllGone = resolve;
      });
    await connectAll(wanted, RETRIES);
  },
});
