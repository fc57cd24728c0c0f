import { once } from "node:events";
import type { Socket as TcpSocket } from "node:net";
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
} from "node:tls";
import { Dice } from "@jecho/e2e/dice";
import { expect, test } from "vitest";
import { MessageReader, OPCODE, type ProtocolError } from "../../src/platform/message-reader.ts";
import { Inbox } from "../rig.ts";
import { frameOf, greeting, lastServer, listen, watch } from "./bare-server.ts";

const LIMIT_BYTES = 200_000;

/**
 * What the reader makes of these bytes, handed to it in pieces that lie in memory which is written again. It is looked at when
 * all has come: what was handed out is not written again.
 */
function readAll(bytes: Uint8Array, cut: () => number): { opcode: number; payload: number[] }[] {
  const seen: { opcode: number; payload: Uint8Array }[] = [];
  const reader = new MessageReader(LIMIT_BYTES, (opcode, payload) => seen.push({ opcode, payload }));
  const memory = new Uint8Array(64);
  for (let at = 0; at < bytes.byteLength; ) {
    const size = Math.min(bytes.byteLength - at, Math.max(1, cut() % 61));
    memory.fill(0xee);
    memory.set(bytes.subarray(at, at + size), 3);
    reader.take(memory, 3, 3 + size);
    at += size;
  }
  for (const { payload } of seen) expect(payload.byteOffset % 8).toBe(0);
  return seen.map(({ opcode, payload }) => ({ opcode, payload: [...payload] }));
}

test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  "messages come whole however they are cut and fragmented: seed %i",
  seed => {
    const dice = new Dice(seed + 1);
    const parts: Buffer[] = [];
    const expected: { opcode: number; payload: number[] }[] = [];
    for (let i = 0; i < 12; i++) {
      const size = [0, 1, 125, 126, 127, 1000, 65_535, 65_536][dice.below(8)] as number;
      const payload = Uint8Array.from({ length: size }, (_, k) => k * 7 + i);
      const fragments = 1 + dice.below(3);
      const opcode = dice.below(2) === 0 ? OPCODE.binary : OPCODE.text;
      for (let f = 0; f < fragments; f++) {
        const from = Math.floor((f * size) / fragments);
        const to = Math.floor(((f + 1) * size) / fragments);
        const kind = f === 0 ? opcode : OPCODE.continuation;
        parts.push(frameOf(kind, payload.subarray(from, to), f === fragments - 1));
        if (f < fragments - 1 && dice.below(2) === 0) {
          parts.push(frameOf(OPCODE.ping, Uint8Array.of(i)));
          expected.push({ opcode: OPCODE.ping, payload: [i] });
        }
      }
      expected.push({ opcode, payload: [...payload] });
    }
    expect(readAll(Buffer.concat(parts), () => dice.below(61))).toEqual(expected);
  },
);

test.each<[string, Uint8Array, number]>([
  ["a reserved bit", Uint8Array.of(0xc2, 0), 1002],
  ["a mask", Uint8Array.of(0x82, 0x80), 1002],
  ["an unknown opcode", Uint8Array.of(0x83, 0), 1002],
  ["an unknown control opcode", Uint8Array.of(0x8b, 0), 1002],
  ["a continuation of nothing", Uint8Array.of(0x80, 0), 1002],
  ["a message within a fragmented one", Uint8Array.of(0x02, 0, 0x82, 0), 1002],
  ["a fragmented ping", Uint8Array.of(0x09, 0), 1002],
  ["a long ping", frameOf(OPCODE.ping, new Uint8Array(126)), 1002],
  [
    "a message beyond the limit",
    frameOf(OPCODE.binary, new Uint8Array(LIMIT_BYTES + 1)).subarray(0, 10),
    1009,
  ],
  [
    "fragments beyond the limit",
    Buffer.concat([
      frameOf(OPCODE.binary, new Uint8Array(LIMIT_BYTES), false),
      frameOf(OPCODE.continuation, Uint8Array.of(1)),
    ]),
    1009,
  ],
  ["a length beyond 2^53", Uint8Array.of(0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255), 1009],
])("%s is refused", (_, bytes, code) => {
  let thrown: unknown;
  try {
    readAll(bytes, () => 60);
  } catch (error) {
    thrown = error;
  }
  expect((thrown as ProtocolError).code).toBe(code);
});

test("what comes right behind the greeting is a message, and a close has its code and reason", async () => {
  const reason = Buffer.concat([Uint8Array.of(0x0f, 0xa3), Buffer.from("come back")]);
  const port = await listen((socket, key) => {
    const all = Buffer.concat([
      Buffer.from(greeting(key)),
      frameOf(OPCODE.binary, Uint8Array.of(1, 2, 3)),
      frameOf(OPCODE.text, Buffer.from("text")),
      frameOf(OPCODE.close, reason),
    ]);
    socket.write(all.subarray(0, 40));
    setImmediate(() => socket.write(all.subarray(40)));
  });
  const { told } = watch(port);
  expect(await told.take(4)).toEqual(["open", [1, 2, 3], "text", { code: 4003, reason: "come back" }]);
});

test.each<[string, (key: string) => string]>([
  ["refuses", () => "HTTP/1.1 400 Bad Request\r\n\r\nno"],
  ["is for another key", () => greeting("another")],
  ["names another protocol", key => greeting(key, "other")],
  ["never ends", () => `HTTP/1.1 101 Switching Protocols\r\n${"x: y\r\n".repeat(5000)}`],
])("an answer that %s is an error", async (_, answer) => {
  const port = await listen((socket, key) => socket.write(answer(key)));
  const { told } = watch(port);
  expect(await told.take(2)).toEqual(["error", { code: 1006, reason: "" }]);
});

test("a port where nobody listens, and a connection that breaks, end as lost", async () => {
  const port = await listen((socket, key) => {
    socket.write(greeting(key));
    socket.end();
  });
  const { told } = watch(port);
  expect(await told.take(2)).toEqual(["open", { code: 1006, reason: "" }]);
  const server = lastServer();
  server.close();
  await once(server, "close");
  const nobody = watch(port);
  expect(await nobody.told.take(2)).toEqual(["error", { code: 1006, reason: "" }]);
});

test("WIRE-7: what it sends, in one part or many, is masked with zeros; a ping is answered; its own close waits for the server's", async () => {
  const sizes = [0, 125, 126, 16_384, 65_535, 65_536, 300_000];
  const inParts = [
    [3, 0, 5],
    [60_000, 60_000],
    [70_000, 3, 65_536, 5, 70_000, 70_000],
    [5, 70_000, 3],
  ];
  const all = [...sizes, ...inParts.map(parts => parts.reduce((sum, size) => sum + size, 0))];
  const expected = all.map(size => ({ opcode: OPCODE.binary as number, size }));
  const got = new Inbox<{ opcode: number; size: number }>();
  const port = await listen((socket, key) => {
    let bytes = Buffer.alloc(0);
    socket.on("data", chunk => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        if (bytes.byteLength < 2) return;
        const short = (bytes[1] as number) & 127;
        const extended = short < 126 ? 0 : short === 126 ? 2 : 8;
        if (bytes.byteLength < 6 + extended) return;
        const size = extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(2) : bytes.readUIntBE(4, 6);
        const payload = bytes.subarray(6 + extended, 6 + extended + size);
        if (payload.byteLength < size) return;
        expect((bytes[1] as number) & 128).toBe(128);
        expect(bytes.readUInt32BE(2 + extended)).toBe(0);
        const opcode = (bytes[0] as number) & 15;
        if (opcode === OPCODE.binary) expect(payload.every((byte, i) => byte === i % 251)).toBe(true);
        if (opcode === OPCODE.close) {
          expect(payload.toString("latin1")).toBe("\x03\xe8bye");
          socket.end(frameOf(OPCODE.close, payload.subarray(0, 2)));
        }
        got.put({ opcode, size });
        bytes = bytes.subarray(6 + extended + size);
      }
    });
    socket.write(Buffer.concat([Buffer.from(greeting(key)), frameOf(OPCODE.ping, Uint8Array.of(9))]));
  });
  const { socket, told } = watch(port);
  await told.take(1);
  const bytes = (size: number) => Uint8Array.from({ length: size }, (_, i) => i % 251);
  for (const size of sizes) socket.send(bytes(size));
  for (const parts of inParts) {
    const whole = bytes(parts.reduce((sum, size) => sum + size, 0));
    let at = 0;
    const cut = (size: number): Uint8Array => {
      at += size;
      return whole.subarray(at - size, at);
    };
    socket.sendParts(parts.map(cut));
  }
  socket.close(1000, "bye");
  expect(await told.take(2)).toEqual(["open", { code: 1000, reason: "" }]);
  expect(got.all.filter(({ opcode }) => opcode === OPCODE.binary)).toEqual(expected);
  expect(got.all.some(({ opcode, size }) => opcode === OPCODE.pong && size === 1)).toBe(true);
});

test("a frame that breaks the protocol ends the connection with 1002", async () => {
  const closed = new Inbox<number>();
  const port = await listen((socket, key) => {
    socket.on("data", chunk => closed.put(chunk.readUInt16BE(6)));
    socket.write(Buffer.concat([Buffer.from(greeting(key)), Uint8Array.of(0xc2, 0)]));
  });
  const { told } = watch(port);
  expect(await told.take(3)).toEqual(["open", "error", { code: 1006, reason: "" }]);
  expect(await closed.take(1)).toEqual([1002]);
});

test("wss: the same over TLS, where the certificate is trusted, and not where it is not", async () => {
  const serve = (socket: TcpSocket, key: string): void => {
    expect((socket as TLSSocket).servername).toBe("localhost");
    socket.write(
      Buffer.concat([Buffer.from(greeting(key)), frameOf(OPCODE.binary, new Uint8Array(100_000))]),
    );
  };
  const port = await listen(serve, createTlsServer({ key: KEY, cert: CERTIFICATE }));
  const strange = watch(port, "wss");
  expect(await strange.told.take(2)).toEqual(["error", { code: 1006, reason: "" }]);
  const trusted = getCACertificates();
  setDefaultCACertificates([...trusted, CERTIFICATE]);
  try {
    const { socket, told } = watch(port, "wss");
    const [opened, message] = await told.take(2);
    expect([opened, (message as number[]).length]).toEqual(["open", 100_000]);
    socket.close();
  } finally {
    setDefaultCACertificates(trusted);
  }
});

/** For localhost, and for these tests alone. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBk88QzanpaIpkh4q
3sCp07R5QWlPF3JE6xSUa5SOOZ2hRANCAAQx4oTfA41EFJy7zn5YDjE4W6p6FZzu
KApMF8y58CvpuulZd80WJH+eTAKoOrfwPTf9zhpI6bUdFLsc/+0j5iGt
-----END PRIVATE KEY-----
`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBYjCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDHihN8DjUQUnLvO
flgOMThbqnoVnO4oCkwXzLnwK+m66Vl3zRYkf55MAqg6t/A9N/3OGkjptR0Uuxz/
7SPmIa2jSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBRvFpLf5Ayg8TKdvZWJX8kQKSp8KjAKBggqhkjOPQQDAgNJADBG
AiEA9vQVaBLAE5oxGCsxeBIzqNDsTvnGmSrPgSEFRHH5QoECIQCJ3qqfNwfUZDId
MIWRZ24WbrJbwY6LftNRxwBikPaWlg==
-----END CERTIFICATE-----
`;
