import { createEnvironment as load } from "@jecho/modulators/browser";
import type { CreateEnvironment, Socket } from "./face.ts";

/** The browser's own WebSocket. */
export function openSocket(url: string, protocols: string[]): Socket {
  const socket = new WebSocket(url, protocols);
  socket.binaryType = "arraybuffer";
  return socket;
}

export const createEnvironment: CreateEnvironment = (options, events) => load(options, events);
export { fetchText as readText } from "./face.ts";

/** Calls back when it is likely that the network is there again. */
export function onNetworkChange(changed: () => void): () => void {
  globalThis.addEventListener?.("online", changed);
  return () => globalThis.removeEventListener?.("online", changed);
}

/** Calls back when what has come in meanwhile has been seen to. */
export function laterTurn(act: () => void): void {
  setTimeout(act);
}
