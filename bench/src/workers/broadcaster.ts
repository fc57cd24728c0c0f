// The peers that are libraries, as a user writes a broadcasting server with them: `broadcaster.ts uws|uws16|ws|socketio`.

import * as uws from "uWebSockets.js";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server as SocketIoServer } from "socket.io";
import { WebSocket, WebSocketServer } from "ws";
import { listening } from "../listening.ts";
import { serve } from "../worker.ts";

const TOPIC = "events";
const PER_TURN = 16;
const LIMIT_BYTES = 16 << 20;

/** @param perTurn events published in one turn of the loop; undefined: each as it comes */
function startUws(perTurn: number | undefined, port: number): Promise<number> {
  const waiting: ArrayBuffer[] = [];
  const app = uws.App();
  const publishSome = (): void => {
    for (const message of waiting.splice(0, perTurn)) app.publish(TOPIC, message, true);
    if (waiting.length > 0) setImmediate(publishSome);
  };
  app.ws("/subscribe", {
    maxBackpressure: LIMIT_BYTES,
    open: socket => void socket.subscribe(TOPIC),
  });
  app.ws("/publish", {
    maxPayloadLength: LIMIT_BYTES,
    message: (_socket, message) => {
      if (perTurn === undefined) {
        app.publish(TOPIC, message, true);
        return;
      }
      // The message's memory is taken back when this returns.
      if (waiting.push(message.slice(0)) === 1) setImmediate(publishSome);
    },
  });
  return new Promise((resolve, reject) => {
    app.listen("127.0.0.1", port, socket => {
      if (socket) resolve(uws.us_socket_local_port(socket));
      else reject(new Error("cannot listen"));
    });
  });
}

async function startWs(port: number): Promise<number> {
  const server = new WebSocketServer({ port, host: "127.0.0.1", perMessageDeflate: false });
  const subscribers = new Set<WebSocket>();
  server.on("connection", (socket, request) => {
    if (request.url === "/subscribe") {
      subscribers.add(socket);
      return;
    }
    socket.on("message", message => {
      for (const subscriber of subscribers)
        if (subscriber.readyState === WebSocket.OPEN) subscriber.send(message, { binary: true });
    });
  });
  await new Promise(resolve => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

function startSocketIo(port: number): Promise<number> {
  const http = createServer();
  const server = new SocketIoServer(http, {
    transports: ["websocket"],
    pingInterval: 300_000,
    pingTimeout: 300_000,
    serveClient: false,
    maxHttpBufferSize: LIMIT_BYTES,
  });
  server.on("connection", socket => {
    socket.on("event", event => socket.broadcast.emit("event", event));
  });
  return listening(http, port);
}

serve({
  /** At this port, or at a free one where it is 0. Answers with the port. */
  listen(port: number) {
    const [kind] = process.argv.slice(2);
    if (kind === "uws") return startUws(undefined, port);
    if (kind === "uws16") return startUws(PER_TURN, port);
    return kind === "ws" ? startWs(port) : startSocketIo(port);
  },
});
