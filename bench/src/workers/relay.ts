// The limit for whoever goes through one hop: passes bytes on between the two ends that have connected, and does nothing else.

import * as uws from "uWebSockets.js";
import { createServer, type Socket } from "node:net";
import { listening } from "../listening.ts";
import { serve } from "../worker.ts";

function relayTcp(): Promise<number> {
  const ends: Socket[] = [];
  const server = createServer({ noDelay: true }, socket => {
    ends.push(socket);
    const here = ends.length - 1;
    socket.on("data", chunk => ends[here ^ 1]?.write(chunk));
    socket.on("error", () => {});
  });
  return listening(server);
}

function relayWebSocket(): Promise<number> {
  const ends: uws.WebSocket<{ end: number }>[] = [];
  const app = uws.App();
  app.ws<{ end: number }>("/*", {
    upgrade: (response, request, context) => {
      const [key, protocol, extensions] = ["key", "protocol", "extensions"].map(name =>
        request.getHeader(`sec-websocket-${name}`),
      ) as [string, string, string];
      response.upgrade({ end: ends.length }, key, protocol, extensions, context);
    },
    open: socket => void ends.push(socket),
    message: (socket, message) => void ends[socket.getUserData().end ^ 1]?.send(message, true),
  });
  return new Promise((resolve, reject) => {
    app.listen("127.0.0.1", 0, socket => {
      if (socket) resolve(uws.us_socket_local_port(socket));
      else reject(new Error("cannot listen"));
    });
  });
}

serve({
  async listen() {
    return { tcp: await relayTcp(), ws: await relayWebSocket() };
  },
});
