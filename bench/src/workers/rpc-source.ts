// The source of Table 1: sends an object over each way, and waits for the answer before it sends the next.
import { connect as connectTcp } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { connect, encodeEvent, type Producer } from "@jecho/client";
import { pack } from "msgpackr";
import { io } from "socket.io-client";
import { WebSocket } from "ws";
import { openMqtt, openNats, TOPICS } from "../broker-clients.ts";
import { loadSinkService } from "../grpc.ts";
import { lengthPrefixed, onMessages } from "../length-prefixed.ts";
import { OBJECT_NAMES, type ObjectName, objectOf, plainObjectOf, protoObjectOf, TYPES } from "../objects.ts";
import { serve } from "../worker.ts";
import type { Hops, SinkPorts } from "./rpc-sink.ts";

export type Way =
  | "tcp"
  | "tcp_relayed"
  | "ws"
  | "ws_relayed"
  | "grpc"
  | "socketio"
  | "nats"
  | "mosquitto"
  | "jecho_sync"
  | "jecho_async";

export interface Measure {
  readonly way: Way;
  readonly object: ObjectName;
  readonly ms: number;
}

/** Asynchronous events between two synchronous ones, which keep the producer from running ahead. */
const BURST = 1023;
const BURSTS = 3;

type RoundTrip = (object: ObjectName) => () => Promise<unknown>;

const trips = new Map<Way, RoundTrip>();
const producers = new Map<ObjectName, Producer<never>>();

async function openTcp(port: number): Promise<RoundTrip> {
  const socket = connectTcp({ port, host: "127.0.0.1" });
  let answered: (value?: unknown) => void = () => {};
  onMessages(socket, () => answered());
  await new Promise(resolve => socket.once("connect", resolve));
  return object => {
    const message = lengthPrefixed(bytesOf(object));
    return () =>
      new Promise(resolve => {
        answered = resolve;
        socket.write(message);
      });
  };
}

async function openWs(port: number): Promise<RoundTrip> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false });
  let answered: (value?: unknown) => void = () => {};
  socket.on("message", () => answered());
  await new Promise(resolve => socket.once("open", resolve));
  return object => {
    const message = bytesOf(object);
    return () =>
      new Promise(resolve => {
        answered = resolve;
        socket.send(message);
      });
  };
}

async function openSocketIo(port: number): Promise<RoundTrip> {
  const socket = io(`http://127.0.0.1:${port}`, { transports: ["websocket"] });
  await new Promise<void>(resolve => socket.once("connect", () => resolve()));
  return object => {
    const value = object === "byte400" ? Buffer.from(objectOf("byte400")["bytes"]) : plainObjectOf(object);
    return () => new Promise(resolve => socket.emit("object", value, resolve));
  };
}

/** A question and its answer, each on a topic; MessagePack is what such programs send. */
async function openBroker(port: number, open: typeof openNats): Promise<RoundTrip> {
  let answered: (value?: unknown) => void = () => {};
  const client = await open(port, TOPICS.answer, () => answered());
  return object => {
    const value = protoObjectOf(object);
    return () =>
      new Promise(resolve => {
        answered = resolve;
        client.publish(TOPICS.question, pack(value));
      });
  };
}

function openGrpc(port: number): RoundTrip {
  const client = new (loadSinkService())(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  return object => {
    const value = protoObjectOf(object);
    return () =>
      new Promise((resolve, reject) => {
        const call = client[object] as (value: object, done: (error: Error | null) => void) => void;
        call.call(client, value, error => {
          if (error === null) resolve(undefined);
          else reject(error);
        });
      });
  };
}

/** Raw ways carry as many bytes as our encoding of the object has. */
function bytesOf(object: ObjectName): Uint8Array {
  return encodeEvent<object>(TYPES[object], objectOf(object));
}

async function roundTrips({ way, object, ms }: Measure): Promise<number> {
  const trip = (trips.get(way) as RoundTrip)(object);
  const start = performance.now();
  let made = 0;
  while (performance.now() - start < ms) {
    await trip();
    made++;
  }
  return (1000 * (performance.now() - start)) / made;
}

async function flatOut({ object, ms }: Measure): Promise<number> {
  const producer = producers.get(object) as Producer<never>;
  const value = objectOf(object);
  const start = performance.now();
  let events = 0;
  const under: Promise<unknown>[] = [];
  while (performance.now() - start < ms) {
    for (let i = 0; i < BURST; i++) producer.publish(value);
    under.push(producer.publishSync(value));
    events += BURST + 1;
    if (under.length >= BURSTS) await under.shift();
  }
  await Promise.all(under);
  return (1000 * (performance.now() - start)) / events;
}

serve({
  async open({ hops, ports }: { hops: Hops; ports: SinkPorts }) {
    trips.set("tcp", await openTcp(ports.tcp));
    trips.set("tcp_relayed", await openTcp(hops.relayTcp));
    trips.set("ws", await openWs(ports.ws));
    trips.set("ws_relayed", await openWs(hops.relayWs));
    trips.set("grpc", openGrpc(ports.grpc));
    trips.set("socketio", await openSocketIo(ports.socketio));
    if (hops.nats !== undefined) trips.set("nats", await openBroker(hops.nats, openNats));
    if (hops.mosquitto !== undefined) trips.set("mosquitto", await openBroker(hops.mosquitto, openMqtt));
    // Who waits for each answer has the connection in his own thread, as the raw ways have.
    const session = connect(`127.0.0.1:${hops.gateway}`, { place: "here" });
    for (const name of OBJECT_NAMES)
      producers.set(name, await session.channel<never>(`table1/${name}`, TYPES[name] as never).produce());
    trips.set("jecho_sync", object => {
      const producer = producers.get(object) as Producer<never>;
      const value = objectOf(object);
      return () => producer.publishSync(value);
    });
  },
  /** Microseconds per round trip; for `jecho_async` per event. */
  measure: (options: Measure) => (options.way === "jecho_async" ? flatOut(options) : roundTrips(options)),
});
