import { DIALECTS, type Kind } from "./dialects.ts";
import { MessageReader, openRaw, type RawWebSocket } from "./raw-websocket.ts";

/** Connects and subscribes to the one channel. Resolves when the server has said that the subscription is in force, where it says so. */
export async function openSubscriber(kind: Kind, port: number, localAddress?: string): Promise<RawWebSocket> {
  const dialect = DIALECTS[kind];
  const reader = new MessageReader();
  const messages: Buffer[] = [];
  let ready: () => void = () => {};
  let failed: (error: Error) => void = () => {};
  const isReady = new Promise<void>((resolve, reject) => {
    ready = resolve;
    failed = reject;
  });
  const greeted = (bytes: Uint8Array, from: number, to: number): void => {
    messages.push(...reader.take(bytes, from, to));
    if (dialect.isReady(messages)) ready();
  };
  const raw = await openRaw(port, dialect.path, { protocol: dialect.protocol, take: greeted, localAddress });
  const { socket } = raw;
  const closed = (): void => failed(new Error("closed before the subscription was in force"));
  socket.once("close", closed);
  if (dialect.greeting !== undefined) socket.write(dialect.greeting);
  if (dialect.isReady(messages)) ready();
  await isReady;
  socket.off("close", closed);
  return raw;
}
