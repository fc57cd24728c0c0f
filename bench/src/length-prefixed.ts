import type { Socket } from "node:net";

/** The least that a message over TCP needs: its length in front. Calls back for each that has come in full. */
export function onMessages(socket: Socket, message: () => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("data", chunk => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const end = 4 + rest.readUInt32LE(0);
      if (rest.length < end) return;
      rest = rest.subarray(end);
      message();
    }
  });
  socket.on("error", () => {});
}

export function lengthPrefixed(payload: Uint8Array): Buffer {
  const message = Buffer.alloc(4 + payload.byteLength);
  message.writeUInt32LE(payload.byteLength);
  message.set(payload, 4);
  return message;
}
