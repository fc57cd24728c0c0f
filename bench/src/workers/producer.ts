// The one producer of a server: keeps a window of events under way, as the subscribers' progress allows.
import { createServer } from "node:net";
import { connect, type Producer } from "@jecho/client";
import { CHANNEL, DIALECTS, type Kind } from "../dialects.ts";
import { listening } from "../listening.ts";
import { clientFrame, OPCODE, openRaw } from "../raw-websocket.ts";
import { serve } from "../worker.ts";

export interface OpenProducer {
  readonly kind: Kind;
  readonly port: number;
}

export interface Flow {
  readonly eventBytes: number;
  /** Events that may be under way: raised, and not yet with every subscriber. */
  readonly window: number;
}

const PING = clientFrame(OPCODE.pong, new Uint8Array(0));

/** By the connection of each half of the load generator: events that all of its subscribers have. */
const reached = new Map<number, number>();
let publish: (payload: Uint8Array, events: number) => void;
let flow: (Flow & { payload: Uint8Array }) | undefined;
let sent = 0;
let whenQuiet: (() => void) | undefined;

function arrived(): number {
  return Math.min(...reached.values());
}

function refill(): void {
  if (flow !== undefined) {
    const room = flow.window - (sent - arrived());
    // A quarter of the window at a time, so that several batches are under way.
    if (room > 0 && room >= flow.window / 4) {
      publish(flow.payload, room);
      sent += room;
    }
  }
  if (sent === arrived()) whenQuiet?.();
}

function listen(): Promise<number> {
  let next = 0;
  const server = createServer({ noDelay: true }, socket => {
    const half = next++;
    reached.set(half, 0);
    let rest = Buffer.alloc(0);
    socket.on("data", chunk => {
      rest = Buffer.concat([rest, chunk]);
      const whole = rest.length - (rest.length % 8);
      if (whole === 0) return;
      reached.set(half, rest.readDoubleLE(whole - 8));
      rest = rest.subarray(whole);
      refill();
    });
    socket.on("error", () => {});
  });
  return listening(server);
}

async function openJecho(port: number): Promise<typeof publish> {
  const producer: Producer<Uint8Array> = await connect(`127.0.0.1:${port}`).channel(CHANNEL).produce();
  return (payload, events) => {
    for (let i = 0; i < events; i++) producer.publish(payload);
  };
}

async function openPeer(kind: Kind, port: number): Promise<typeof publish> {
  const dialect = DIALECTS[kind];
  const { socket } = await openRaw(port, dialect.producerPath ?? dialect.path, {
    protocol: dialect.protocol,
    take: () => {},
  });
  if (dialect.producerGreeting !== undefined) socket.write(dialect.producerGreeting);
  // Servers that close silent connections are to hear something.
  setInterval(() => socket.write(PING), 5000).unref();
  let last: Uint8Array | undefined;
  let one: Uint8Array = new Uint8Array(0);
  return (payload, events) => {
    if (payload !== last) one = dialect.event(payload);
    last = payload;
    socket.write(events === 1 ? one : Buffer.concat(Array.from({ length: events }, () => one)));
  };
}

serve({
  /** Answers with the port that subscribers report their progress to. */
  async open({ kind, port }: OpenProducer) {
    publish = kind === "jecho" ? await openJecho(port) : await openPeer(kind, port);
    return listen();
  },
  start(options: Flow) {
    flow = { ...options, payload: new Uint8Array(options.eventBytes).fill(7) };
    refill();
  },
  /** Answers when every subscriber has every event, with the number of events so far. */
  async stop() {
    flow = undefined;
    if (sent !== arrived()) {
      await new Promise<void>(resolve => {
        whenQuiet = resolve;
      });
      whenQuiet = undefined;
    }
    return sent;
  },
});
