// The sink of Table 1: takes an object over each way and answers with the null object.
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { connect } from "@jecho/client";
import { unpack } from "msgpackr";
import { Server as SocketIoServer } from "socket.io";
import { WebSocket, WebSocketServer } from "ws";
import { openMqtt, openNats, TOPICS } from "../broker-clients.ts";
import { loadSinkService } from "../grpc.ts";
import { lengthPrefixed, onMessages } from "../length-prefixed.ts";
import { listening } from "../listening.ts";
import { OBJECT_NAMES, TYPES } from "../objects.ts";
import { serve } from "../worker.ts";

/** Ports of the processes in the middle. */
export interface Hops {
  readonly gateway: number;
  readonly relayTcp: number;
  readonly relayWs: number;
  /** Brokers' own protocols over TCP, where they run. */
  readonly nats?: number | undefined;
  readonly mosquitto?: number | undefined;
}

/** Ports that the source connects to directly. */
export interface SinkPorts {
  readonly tcp: number;
  readonly ws: number;
  readonly socketio: number;
  readonly grpc: number;
}

const NULL_BYTES = new Uint8Array(0);
const NULL_MESSAGE = lengthPrefixed(NULL_BYTES);
/** Something is made of every value, so that reading it cannot be left out. */
export let seen = 0;

/** Reads every field, as gRPC's decoder does: an accessor that nobody asks costs nothing. */
function touch(value: unknown): void {
  if (typeof value === "string") seen += value.length;
  else if (typeof value === "number") seen += value;
  else if (ArrayBuffer.isView(value)) seen += value.byteLength;
  else if (Array.isArray(value)) for (const element of value) touch(element);
  else if (typeof value === "object" && value !== null) for (const name in value) touch(value[name as never]);
}

function listenTcp(): Promise<number> {
  return listening(createTcpServer(socket => onMessages(socket, () => void socket.write(NULL_MESSAGE))));
}

async function listenWs(): Promise<number> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  server.on("connection", socket => socket.on("message", () => socket.send(NULL_BYTES)));
  await new Promise(resolve => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

function listenSocketIo(): Promise<number> {
  const http = createHttpServer();
  const server = new SocketIoServer(http, { transports: ["websocket"], serveClient: false });
  server.on("connection", socket => socket.on("object", (_object, answer: () => void) => answer()));
  return listening(http);
}

function listenGrpc(): Promise<number> {
  const server = new grpc.Server();
  const answer = (_call: unknown, callback: (error: null, value: object) => void): void => callback(null, {});
  server.addService(
    loadSinkService().service,
    Object.fromEntries(OBJECT_NAMES.map(name => [name, answer])) as grpc.UntypedServiceImplementation,
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

async function joinRelays({ relayTcp, relayWs }: Hops): Promise<void> {
  const tcp = connectTcp({ port: relayTcp, host: "127.0.0.1" });
  onMessages(tcp, () => void tcp.write(NULL_MESSAGE));
  const socket = new WebSocket(`ws://127.0.0.1:${relayWs}/`, { perMessageDeflate: false });
  socket.on("message", () => socket.send(NULL_BYTES));
  await Promise.all([
    new Promise(resolve => tcp.once("connect", resolve)),
    new Promise(resolve => socket.once("open", resolve)),
  ]);
}

async function joinBrokers({ nats, mosquitto }: Hops): Promise<void> {
  for (const [port, open] of [
    [nats, openNats],
    [mosquitto, openMqtt],
  ] as const) {
    if (port === undefined) continue;
    const client = await open(port, TOPICS.question, payload => {
      touch(unpack(payload));
      client.publish(TOPICS.answer, NULL_BYTES);
    });
  }
}

serve({
  async open(hops: Hops): Promise<SinkPorts> {
    await joinRelays(hops);
    await joinBrokers(hops);
    // Who waits for each answer has the connection in his own thread, as the raw ways have.
    const session = connect(`127.0.0.1:${hops.gateway}`, { place: "here" });
    for (const name of OBJECT_NAMES)
      await session.channel(`table1/${name}`, TYPES[name] as never).subscribe(touch);
    return {
      tcp: await listenTcp(),
      ws: await listenWs(),
      socketio: await listenSocketIo(),
      grpc: await listenGrpc(),
    };
  },
});
