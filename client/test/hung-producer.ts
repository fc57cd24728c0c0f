import { once } from "node:events";
import { encodeControl, type Frame, PROTOCOL, parseMessage, SUBPROTOCOL } from "@jecho/shared/internal";
import { expect } from "vitest";
import { Tick } from "./tick.ts";

/** A bare client that opens a producer, and answers nothing. */
export async function openHungProducer(address: string): Promise<{ close(): void; frames: Frame["kind"][] }> {
  const socket = new WebSocket(`ws://${address}/`, SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  const frames: Frame["kind"][] = [];
  socket.onmessage = ({ data }) =>
    parseMessage(new Uint8Array(data as ArrayBuffer), ({ kind }) => frames.push(kind));
  await once(socket, "open");
  const { schema } = Tick;
  for (const frame of [
    encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "hung" }),
    encodeControl({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true }),
  ])
    socket.send(frame as Uint8Array<ArrayBuffer>);
  await expect.poll(() => frames).toContain("ProducerOpened");
  return { close: () => socket.close(), frames };
}
