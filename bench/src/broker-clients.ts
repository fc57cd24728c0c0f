import { connect, type Socket } from "node:net";

/*
 * As little of the brokers' own protocols over TCP as a round trip needs: less than any client library does, so that the broker is
 * what is measured.
 */

/** Topics of questions, and of their answers. */
export const TOPICS = { question: "question", answer: "answer" } as const;

/** A connection to one broker. */
export interface BrokerClient {
  publish(topic: string, payload: Uint8Array): void;
}

type OnMessage = (payload: Buffer) => void;

/** Takes the messages out of the beginning of what came, and returns how many bytes of it are done with. */
type Take = (bytes: Buffer, message: OnMessage) => number;

const text = (words: string): Buffer => Buffer.from(words, "latin1");
const CRLF = text("\r\n");

/** Subscribes to one topic of nats-server. Resolves when the subscription is in force. */
export async function openNats(port: number, topic: string, onMessage: OnMessage): Promise<BrokerClient> {
  const greeting = text(
    `CONNECT {"verbose":false,"pedantic":false,"lang":"bench"}\r\nSUB ${topic} 1\r\nPING\r\n`,
  );
  const socket = await open(port, greeting, "PONG", takeNats, onMessage);
  return {
    publish(name, payload) {
      socket.write(Buffer.concat([text(`PUB ${name} ${payload.byteLength}\r\n`), payload, CRLF]));
    },
  };
}

function takeNats(bytes: Buffer, message: OnMessage): number {
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(CRLF, at);
    if (end < 0) return at;
    if (bytes[at] !== 0x4d) {
      // INFO, PONG, PING: nothing that a short measurement must answer.
      at = end + 2;
      continue;
    }
    const line = bytes.toString("latin1", at, end);
    const length = Number(line.slice(line.lastIndexOf(" ") + 1));
    if (bytes.length < end + 2 + length + 2) return at;
    message(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}

/** Subscribes to one topic of an MQTT 3.1.1 broker, at most once. Resolves when the subscription is in force. */
export async function openMqtt(port: number, topic: string, onMessage: OnMessage): Promise<BrokerClient> {
  const greeting = Buffer.concat([mqttConnect(topic), mqttSubscribe(topic)]);
  const socket = await open(port, greeting, "\x90", takeMqtt, onMessage);
  return { publish: (name, payload) => void socket.write(mqttPublish(name, payload)) };
}

/** MQTT 3.1.1: clean session, no keep-alive. Clients that name themselves alike would push each other out. */
export function mqttConnect(client = ""): Buffer {
  return mqttPacket(0x10, Buffer.concat([text("\x00\x04MQTT\x04\x02\x00\x00"), mqttString(client)]));
}

export function mqttSubscribe(topic: string): Buffer {
  return mqttPacket(0x82, Buffer.concat([Buffer.from([0, 1]), mqttString(topic), Buffer.from([0])]));
}

export function mqttPublish(topic: string, payload: Uint8Array): Buffer {
  return mqttPacket(0x30, Buffer.concat([mqttString(topic), payload]));
}

function mqttString(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length >> 8, value.length & 255]), text(value)]);
}

function mqttPacket(kind: number, content: Buffer): Buffer {
  const length: number[] = [];
  let rest = content.byteLength;
  do {
    length.push(rest < 128 ? rest : 128 | (rest & 127));
    rest >>= 7;
  } while (rest > 0);
  return Buffer.concat([Buffer.from([kind, ...length]), content]);
}

function takeMqtt(bytes: Buffer, message: OnMessage): number {
  let at = 0;
  while (at + 2 <= bytes.length) {
    let length = 0;
    let from = at + 1;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[from];
      if (byte === undefined) return at;
      from++;
      length |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    if (bytes.length < from + length) return at;
    if ((bytes[at] as number) >> 4 === 3) {
      const topicBytes = bytes.readUInt16BE(from);
      message(bytes.subarray(from + 2 + topicBytes, from + length));
    }
    at = from + length;
  }
  return at;
}

/** @param sign what the broker's first bytes have in them once the subscription is in force */
function open(
  port: number,
  greeting: Buffer,
  sign: string,
  take: Take,
  onMessage: OnMessage,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let rest: Buffer = Buffer.alloc(0);
    let isReady = false;
    socket.once("error", reject);
    socket.once("connect", () => socket.write(greeting));
    socket.on("data", chunk => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      if (!isReady && rest.includes(sign, 0, "latin1")) {
        isReady = true;
        resolve(socket);
      }
      // Before that, the sign may lie over two reads.
      if (isReady) rest = rest.subarray(take(rest, onMessage));
    });
  });
}
