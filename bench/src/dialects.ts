import { encodeControl, joinFrames, PROTOCOL, SUBPROTOCOL } from "@jecho/shared/internal";
import { mqttConnect, mqttPublish, mqttSubscribe } from "./broker-clients.ts";
import type { Counting } from "./delivery-counter.ts";
import { clientFrame, OPCODE } from "./raw-websocket.ts";

/** Messages of a subscriber and a producer to one kind of server, in its own protocol. */
export interface Dialect {
  readonly path: string;
  readonly protocol?: string;
  /** Bytes that a subscriber sends behind the handshake. */
  readonly greeting?: Uint8Array;
  /** Is the subscription in force, seeing all messages so far? */
  isReady(messages: readonly Buffer[]): boolean;
  counting(eventBytes: number): Counting;
  /** How the producer's connection differs, and one event as it goes over it. */
  readonly producerPath?: string;
  readonly producerGreeting?: Uint8Array;
  event(payload: Uint8Array): Uint8Array;
}

export type Kind = "jecho" | "uws" | "ws" | "socketio" | "nats" | "mosquitto";

/** The channel that all of them use. */
export const CHANNEL = "bench";

const text = (words: string): Buffer => Buffer.from(words, "latin1");

const hello = encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "bench" });
const open = encodeControl({
  kind: "OpenConsumer",
  request: 1,
  channel: CHANNEL,
  schema: new Uint8Array(0),
  modulator: undefined,
});

/** A server that passes on what it is sent. */
const PLAIN: Dialect = {
  path: "/subscribe",
  isReady: () => true,
  counting: () => "messages",
  producerPath: "/publish",
  event: payload => clientFrame(OPCODE.binary, payload),
};

export const DIALECTS: Readonly<Record<Kind, Dialect>> = {
  jecho: {
    path: "/",
    protocol: SUBPROTOCOL,
    greeting: clientFrame(OPCODE.binary, joinFrames([hello, open])),
    // Welcome and ConsumerOpened.
    isReady: messages => messages.length >= 2,
    counting: () => "runs",
    event: () => {
      throw new Error("producers of JEcho use its client");
    },
  },
  uws: PLAIN,
  ws: PLAIN,
  socketio: {
    path: "/socket.io/?EIO=4&transport=websocket",
    greeting: clientFrame(OPCODE.text, text("40")),
    isReady: messages => messages.some(message => message.toString("latin1").startsWith("40")),
    counting: () => "messages",
    producerGreeting: clientFrame(OPCODE.text, text("40")),
    // Text: bytes would cost it a second message for each event.
    event: payload =>
      clientFrame(OPCODE.text, text(`42["event","${"e".repeat(Math.max(0, payload.byteLength))}"]`)),
  },
  nats: {
    path: "/",
    greeting: clientFrame(
      OPCODE.binary,
      text(`CONNECT {"verbose":false,"pedantic":false,"lang":"bench"}\r\nSUB ${CHANNEL} 1\r\nPING\r\n`),
    ),
    isReady: messages => Buffer.concat(messages).includes("PONG\r\n"),
    counting: bytes => ({ unitBytes: `MSG ${CHANNEL} 1 ${bytes}\r\n`.length + bytes + 2 }),
    producerGreeting: clientFrame(
      OPCODE.binary,
      text('CONNECT {"verbose":false,"pedantic":false,"lang":"bench"}\r\n'),
    ),
    event: payload =>
      clientFrame(
        OPCODE.binary,
        Buffer.concat([text(`PUB ${CHANNEL} ${payload.byteLength}\r\n`), payload, text("\r\n")]),
      ),
  },
  mosquitto: {
    path: "/mqtt",
    protocol: "mqtt",
    greeting: clientFrame(OPCODE.binary, Buffer.concat([mqttConnect(), mqttSubscribe(CHANNEL)])),
    isReady: messages => Buffer.concat(messages).includes(0x90),
    counting: bytes => ({ unitBytes: mqttPublish(CHANNEL, new Uint8Array(bytes)).byteLength }),
    producerGreeting: clientFrame(OPCODE.binary, mqttConnect()),
    event: payload => clientFrame(OPCODE.binary, mqttPublish(CHANNEL, payload)),
  },
};
