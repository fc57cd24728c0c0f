import { encodeControl, encodeRun, joinFrames } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { DeliveryCounter } from "../src/delivery-counter.ts";
import { OPCODE } from "../src/raw-websocket.ts";

/** A server's frame: its header is not masked. */
function frame(payload: Uint8Array, opcode: number = OPCODE.binary): Buffer {
  const header = Buffer.alloc(4);
  header[0] = 0x80 | opcode;
  header[1] = 126;
  header.writeUInt16BE(payload.byteLength, 2);
  return Buffer.concat([header, payload]);
}

function run(events: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const parts = Array.from({ length: events }, () => ({ bytes, start: 0, end: 8 }));
  return encodeRun({ channel: 1, producer: 2, raised: 1, token: 0n, parameters: 0, flags: 0 }, parts);
}

const pong = encodeControl({ kind: "Pong", time: 1, now: 2 });
const stream = Buffer.concat([
  frame(pong),
  frame(joinFrames([run(3), pong, run(4)])),
  frame(run(1)),
  frame(new Uint8Array(0), OPCODE.ping),
  frame(joinFrames([pong, run(5)])),
]);
const EVENTS = 3 + 4 + 1 + 5;

test("all runs of a message count, and a ping is answered, wherever a read ends", () => {
  for (let size = 1; size <= stream.byteLength; size++) {
    let replies = 0;
    const counter = new DeliveryCounter("runs", () => replies++);
    let events = 0;
    for (let at = 0; at < stream.byteLength; at += size)
      events += counter.take(stream, at, Math.min(at + size, stream.byteLength));
    expect({ size, events, replies, bytes: counter.bytes }).toEqual({
      size,
      events: EVENTS,
      replies: 1,
      bytes: stream.byteLength,
    });
  }
});

test("a run counts when its last byte has come", () => {
  const counter = new DeliveryCounter("runs", () => {});
  const bytes = frame(joinFrames([run(3), run(4)]));
  expect(counter.take(bytes, 0, bytes.byteLength - 1)).toBe(3);
  expect(counter.take(bytes, bytes.byteLength - 1, bytes.byteLength)).toBe(4);
});

test("messages count, or units of a stream, where the server is another", () => {
  const counting = {
    messages: new DeliveryCounter("messages", () => {}),
    units: new DeliveryCounter({ unitBytes: 50 }, () => {}),
  };
  const bytes = Uint8Array.from([...frame(new Uint8Array(120)), ...frame(new Uint8Array(30))]);
  expect(counting.messages.take(bytes, 0, bytes.length)).toBe(2);
  expect(counting.units.take(bytes, 0, bytes.length)).toBe(3);
});

test("a subscriber that is cut off is an error", () => {
  const counter = new DeliveryCounter("messages", () => {});
  expect(() => counter.take(frame(new Uint8Array(2), OPCODE.close), 0, 6)).toThrow("cut off");
});
