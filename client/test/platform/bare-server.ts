import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket as TcpSocket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { afterAll, expect } from "vitest";
import { NodeSocket } from "../../src/platform/node-socket.ts";
import { Inbox } from "../rig.ts";

const PROTOCOL = "test.1";

/** A frame as a server sends it. */
export function frameOf(opcode: number, payload: Uint8Array, isLast = true): Buffer {
  const { byteLength } = payload;
  const first = (isLast ? 0x80 : 0) | opcode;
  if (byteLength < 126) return Buffer.concat([Uint8Array.of(first, byteLength), payload]);
  const length = Buffer.alloc(byteLength < 65536 ? 2 : 8);
  length.writeUIntBE(byteLength, length.byteLength === 2 ? 0 : 2, length.byteLength === 2 ? 2 : 6);
  return Buffer.concat([Uint8Array.of(first, byteLength < 65536 ? 126 : 127), length, payload]);
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** The server that listens last. */
export function lastServer(): Server {
  return servers.at(-1) as Server;
}

/** A server that greets and then does as it is told. @returns its port */
export async function listen(
  serve: (socket: TcpSocket, key: string) => void,
  server: Server = createServer(),
): Promise<number> {
  servers.push(server);
  const connected = server instanceof TlsServer ? "secureConnection" : "connection";
  server.on(connected, (socket: TcpSocket) => {
    socket.on("error", () => {});
    let head = "";
    const greet = (chunk: Buffer): void => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", greet);
      expect(head).toMatch(/^GET \/path\?q=1 HTTP\/1\.1\r\n/);
      expect(head).toContain(`Sec-WebSocket-Protocol: ${PROTOCOL}\r\n`);
      serve(socket, /Sec-WebSocket-Key: (.*)\r\n/.exec(head)?.[1] ?? "");
    };
    socket.on("data", greet);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

export function greeting(key: string, protocol = PROTOCOL): string {
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "upgrade: WebSocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept:${accept}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
    "\r\n",
  ].join("\r\n");
}

/** Everything that a socket tells, in order. */
export function watch(port: number, scheme = "ws"): { socket: NodeSocket; told: Inbox<unknown> } {
  const socket = new NodeSocket(`${scheme}://localhost:${port}/path?q=1`, [PROTOCOL]);
  const told = new Inbox<unknown>();
  socket.onopen = () => told.put("open");
  socket.onmessage = ({ data }: { data: Uint8Array | string }) =>
    told.put(typeof data === "string" ? data : [...data]);
  socket.onerror = () => told.put("error");
  socket.onclose = ({ code, reason }: { code: number; reason: string }) => told.put({ code, reason });
  return { socket, told };
}
