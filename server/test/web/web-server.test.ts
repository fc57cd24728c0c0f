import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { JechoError } from "@jecho/shared";
import { describe, expect, test } from "vitest";
import { chooseServer } from "../../src/web/choose-server.ts";
import {
  type ServerSocket,
  WEB_SERVERS,
  type WebAnswer,
  type WebHandlers,
  type WebRequest,
  type WebServerName,
} from "../../src/web/web-server.ts";

const PROTOCOL = "test.1";
const MIB = 1 << 20;
/** Longer than what the system keeps of a socket that nobody reads. */
const LARGE = new Uint8Array(32 * MIB).fill(7);

/** What a server has told of one socket, in order. */
type News = ["opened" | "drained"] | ["message", bytes: number[] | string] | ["closed", code: number];

/** A server that answers by what it was asked, and tells of its sockets. */
class Rig {
  readonly news: News[] = [];
  readonly sockets: ServerSocket[] = [];
  readonly asked: { method: string; path: string; header: string; address: number }[] = [];
  onMessage: (socket: ServerSocket, bytes: Uint8Array) => void = () => {};
  port = 0;
  /** A port of its own, besides. */
  own = 0;
  close = (): void => {};
  stopListening = (): void => {};

  static async start(name: WebServerName, limits: { mostWaitingBytes?: number } = {}): Promise<Rig> {
    const rig = new Rig();
    const { create } = await chooseServer(name);
    const options = { path: "/base", protocol: PROTOCOL, limitBytes: MIB, idleSeconds: 8 } as const;
    const server = create(
      { ...options, mostWaitingBytes: 64 * MIB, ...limits, certificate: undefined },
      rig.#handlers,
    );
    rig.port = await server.listen("127.0.0.1", 0);
    rig.own = await server.listenHere();
    rig.close = () => server.close();
    rig.stopListening = () => server.stopListening();
    return rig;
  }

  get #handlers(): WebHandlers {
    return {
      answer: request => this.#answer(request),
      refuse: request =>
        request.header("origin") === "http://evil.example"
          ? { status: "403 Forbidden", headers: [["x-why", "evil"]], body: "no\n" }
          : undefined,
      opened: socket => {
        this.sockets.push(socket);
        this.news.push(["opened"]);
      },
      message: (socket, message, isBinary) => {
        this.news.push(["message", isBinary ? [...new Uint8Array(message)].slice(0, 8) : "text"]);
        this.onMessage(socket, new Uint8Array(message));
      },
      pong: () => {},
      drained: () => this.news.push(["drained"]),
      crowded: () => {},
      closed: (socket, code) => {
        this.sockets.splice(this.sockets.indexOf(socket), 1);
        this.news.push(["closed", code]);
      },
    };
  }

  #answer(request: WebRequest): WebAnswer {
    const { method, path } = request;
    this.asked.push({
      method,
      path,
      header: request.header("x-test"),
      address: request.remoteAddress().byteLength,
    });
    if (path === "/known") return { status: "304 Not Modified", headers: [["etag", '"1"']], body: "known\n" };
    if (path === "/large") return { status: "200 OK", headers: [], body: LARGE };
    if (path === "/moved") return { status: "308 Permanent Redirect", headers: [["location", "/there"]] };
    return {
      status: "404 Not Found",
      headers: [
        ["content-type", "text/plain"],
        ["x-one", "1"],
      ],
      body: "nothing\n",
    };
  }

  async client(port = this.port): Promise<{
    socket: WebSocket;
    heard: number[][];
    closed: Promise<{ code: number; reason: string }>;
  }> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/base/`, PROTOCOL);
    socket.binaryType = "arraybuffer";
    const heard: number[][] = [];
    socket.onmessage = ({ data }) => heard.push([...new Uint8Array(data)].slice(0, 8));
    const closed = new Promise<{ code: number; reason: string }>(resolve => {
      socket.onclose = ({ code, reason }) => resolve({ code, reason });
    });
    await once(socket, "open");
    expect(socket.protocol).toBe(PROTOCOL);
    return { socket, heard, closed };
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

describe.for([...WEB_SERVERS])("served by %s", name => {
  test("an HTTP request is answered whole, and HEAD by the same headers and the length", async () => {
    using rig = await Rig.start(name);
    const url = `http://127.0.0.1:${rig.port}`;
    const page = await fetch(`${url}/a/../b%20c?q=1`, { headers: { "X-Test": "yes" } });
    expect([page.status, page.headers.get("x-one"), await page.text()]).toEqual([404, "1", "nothing\n"]);
    const head = await fetch(`${url}/nothing`, { method: "HEAD" });
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["8", ""]);
    const known = await fetch(`${url}/known`);
    expect([known.status, await known.text()]).toEqual([304, ""]);
    const large = await fetch(`${url}/large`);
    expect(Buffer.compare(await large.bytes(), LARGE)).toBe(0);
    const moved = await fetch(`${url}/moved`, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([308, "/there"]);
    expect((await fetch(`${url}/x`, { method: "POST", body: "abc" })).status).toBe(404);
    expect(rig.asked[0]).toEqual({ method: "get", path: "/b%20c", header: "yes", address: 4 });
    expect(rig.asked.map(({ method }) => method)).toEqual(["get", "head", "get", "get", "get", "post"]);
  });

  test("an upgrade is refused by an answer, and taken below the path alone", async () => {
    using rig = await Rig.start(name);
    const upgrade = async (path: string, origin: string): Promise<unknown[]> => {
      const headers = {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-protocol": PROTOCOL,
        origin,
      };
      const asked = request(`http://127.0.0.1:${rig.port}${path}`, { headers }).end();
      const [response] = await Promise.race([once(asked, "response"), once(asked, "upgrade")]);
      if (response.statusCode === 101) {
        response.socket.destroy();
        return [101];
      }
      return [response.statusCode, response.headers["x-why"] ?? "", await text(response)];
    };
    expect(await upgrade("/base/", "http://evil.example")).toEqual([403, "evil", "no\n"]);
    expect(await upgrade("/other/", "http://good.example")).toEqual([404, "", "nothing\n"]);
    expect(await upgrade("/base/", "http://good.example")).toEqual([101]);
    await expect.poll(() => rig.news).toEqual([["opened"], ["closed", 1006]]);
  });

  // What has come at once Node takes at once, but copies no body. A megabyte of headers is no more than the system keeps.
  test.for(name === "ws" ? ["GET /large"] : ["GET /large", "HEAD /large", "GET /known"])(
    "who asks for %s again and again, and reads no answer, is answered few",
    async what => {
      using rig = await Rig.start(name);
      const tcp = connect(rig.port, "127.0.0.1").on("error", () => {});
      tcp.write(`${what} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(5000));
      await expect.poll(() => rig.asked.length).toBeGreaterThan(0);
      // Those of others are answered, so that what had come of these has been looked at.
      for (let i = 0; i < 3; i++) await (await fetch(`http://127.0.0.1:${rig.port}/`)).text();
      expect(rig.asked.filter(({ path }) => path !== "/").length).toBeLessThan(3000);
      tcp.destroy();
    },
  );

  test("messages come one by one, in order, each at the start of its memory", async () => {
    using rig = await Rig.start(name);
    const offsets: number[] = [];
    rig.onMessage = (socket, bytes) => {
      offsets.push(bytes.byteOffset % 8);
      socket.send(bytes, true);
    };
    const { socket, heard } = await rig.client();
    for (let i = 0; i < 20; i++) socket.send(new Uint8Array(1 + i * 7).fill(i));
    socket.send("hello");
    await expect.poll(() => heard.length).toBe(21);
    expect(heard.slice(0, 20).map(([first]) => first)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(rig.news.at(-1)).toEqual(["message", "text"]);
    expect(new Set(offsets)).toEqual(new Set([0]));
    expect(rig.sockets[0]?.getRemoteAddress().byteLength).toBe(4);
    expect(rig.sockets[0]?.getBufferedAmount()).toBe(0);
  });

  test("a topic's subscribers get what others publish, as it was then, in order with what is sent", async () => {
    using rig = await Rig.start(name);
    const clients = [await rig.client(), await rig.client(), await rig.client()];
    const [publisher, one, other] = rig.sockets as [ServerSocket, ServerSocket, ServerSocket];
    for (const socket of rig.sockets) socket.subscribe("t");
    other.unsubscribe("t");
    const bytes = Uint8Array.of(1);
    rig.onMessage = () => {
      publisher.publish("t", bytes, true);
      // It is used again at once.
      bytes[0] = 2;
      one.send(bytes, true);
      bytes[0] = 3;
      publisher.publish("t", bytes, true);
      publisher.publish("nobody's", bytes, true);
      bytes[0] = 9;
      for (const socket of rig.sockets) socket.send(bytes, true);
    };
    clients[0]?.socket.send("go");
    await expect.poll(() => clients.map(({ heard }) => heard.flat())).toEqual([[9], [1, 2, 3, 9], [9]]);
  });

  test("a socket that ends says why, and is told as closed at once, and once", async () => {
    using rig = await Rig.start(name);
    const staying = await rig.client();
    const client = await rig.client();
    for (const socket of rig.sockets) socket.subscribe("t");
    const [first, second] = rig.sockets as [ServerSocket, ServerSocket];
    second.send(Uint8Array.of(1), true);
    second.end(4007, "OVERLOADED: enough");
    expect(rig.sockets).toEqual([first]);
    client.socket.send(Uint8Array.of(5));
    expect(await client.closed).toEqual({ code: 4007, reason: "OVERLOADED: enough" });
    expect(client.heard).toEqual([[1]]);
    first.publish("t", Uint8Array.of(1), true);
    staying.socket.close(4100, "bye");
    await staying.closed;
    await expect
      .poll(() => rig.news.slice(2))
      .toEqual([
        ["closed", expect.any(Number)],
        ["closed", 4100],
      ]);
  });

  test("what waits in a socket is counted, told of when it has gone, and bounded", async () => {
    using rig = await Rig.start(name, { mostWaitingBytes: 24 * MIB });
    const tcp = connect(rig.port, "127.0.0.1");
    tcp.on("error", () => {});
    tcp.write(
      `GET /base/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
    );
    await once(tcp, "readable");
    const [socket] = rig.sockets as [ServerSocket];
    const message = new Uint8Array(MIB);
    // Nobody reads: the system takes some, the rest waits.
    let sent = 0;
    while (socket.send(message, true) === 1 && sent++ < 1000);
    for (let i = 0; i < 4; i++) socket.send(message, true);
    expect(socket.getBufferedAmount()).toBeGreaterThan(3 * MIB);
    expect(socket.getBufferedAmount()).toBeLessThan(24 * MIB);
    tcp.resume();
    await expect.poll(() => rig.news.some(([kind]) => kind === "drained")).toBe(true);
    await expect.poll(() => socket.getBufferedAmount()).toBe(0);
    tcp.pause();
    for (let i = 0; rig.sockets.length > 0 && i < 200; i++) {
      socket.send(message, true);
      await new Promise(setImmediate);
    }
    tcp.resume();
    await expect.poll(() => rig.news.at(-1)).toEqual(["closed", 1006]);
    tcp.destroy();
  });

  test("a message beyond the limit ends its socket", async () => {
    using rig = await Rig.start(name);
    const { socket, closed } = await rig.client();
    socket.send(new Uint8Array(MIB + 1));
    await closed;
    await expect.poll(() => rig.sockets).toEqual([]);
    expect(rig.news.filter(([kind]) => kind === "message")).toEqual([]);
  });

  test("a port that is taken, and a host that is none of this machine, are told in words", async () => {
    using rig = await Rig.start(name);
    const { create } = await chooseServer(name);
    const options = { path: "", protocol: PROTOCOL, limitBytes: 1, idleSeconds: 8, mostWaitingBytes: 1 };
    const handlers = {} as WebHandlers;
    const listen = (host: string, port: number) =>
      create(
        { ...options, certificate: undefined },
        { ...handlers, answer: () => ({ status: "", headers: [] }) },
      ).listen(host, port);
    await expect(listen("127.0.0.1", rig.port)).rejects.toThrow(/another program has this port/);
    const foreign = listen("192.0.2.1", 0);
    await expect(foreign).rejects.toThrow(JechoError);
    await expect(foreign).rejects.toThrow(/no address 192\.0\.2\.1/);
  });

  test("a server that stops listening keeps its sockets, until it closes, at both of its ports", async () => {
    using rig = await Rig.start(name);
    const clients = [await rig.client(), await rig.client(rig.own)];
    rig.stopListening();
    for (const port of [rig.port, rig.own])
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    for (const socket of rig.sockets) socket.send(Uint8Array.of(7), true);
    await expect.poll(() => clients.map(({ heard }) => heard)).toEqual([[[7]], [[7]]]);
    rig.close();
    for (const { closed } of clients) expect(await closed).toMatchObject({ code: 1006 });
  });
});

test("a socket whose upgrade was refused is closed, whatever its client does", async () => {
  // That of uWebSockets.js cuts it after ten seconds, as any that does not go on.
  using rig = await Rig.start("ws");
  const tcp = connect({ port: rig.port, host: "127.0.0.1", allowHalfOpen: true })
    .on("error", () => {})
    .resume();
  let isClosed = false;
  tcp.once("close", () => {
    isClosed = true;
  });
  tcp.write(
    `GET /base/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://evil.example\r\n\r\n`,
  );
  await once(tcp, "end");
  const isGone = (): boolean => {
    if (tcp.writable) tcp.write("x");
    return isClosed;
  };
  await expect.poll(isGone).toBe(true);
});

// Side by side: each waits for the shortest idle time that uWebSockets.js takes.
test("who answers no ping is cut, and who does stays", () => Promise.all(WEB_SERVERS.map(cutsWhoIsSilent)));

async function cutsWhoIsSilent(name: WebServerName): Promise<void> {
  using rig = await Rig.start(name);
  await rig.client();
  const tcp = connect(rig.port, "127.0.0.1");
  tcp.write(
    `GET /base/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
  );
  tcp.on("error", () => {});
  const cut = once(tcp, "close");
  tcp.resume();
  await cut;
  await expect.poll(() => rig.news).toEqual([["opened"], ["opened"], ["closed", 1006]]);
}
