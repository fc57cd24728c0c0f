import { createEnvironment as load } from "@jecho/modulators/browser";
import type { CreateEnvironment, Socket } from "./face.ts";

/** The browser's own WebSocket. */
export function openSocket(url: string, protocols: readonly string[]): Socket {
  const socket = new WebSocket(url, [...protocols]);
  socket.binaryType = "arraybuffer";
  return socket;
}

const ASKS_MS = 3000;

/**
 * Asks the gateway whether pages of this origin may connect, for a browser does not say why it could not.
 *
 * @param url of the gateway's WebSocket
 * @returns why not; undefined where they may, or nobody answers
 */
export async function refusalAt(url: string): Promise<string | undefined> {
  try {
    const place = new URL("admission", url.replace(/^ws/, "http"));
    const answer = await fetch(place, { cache: "no-store", signal: AbortSignal.timeout(ASKS_MS) });
    const { admitted, message } = (await answer.json()) as { admitted?: unknown; message?: unknown };
    return admitted === false && typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

export const createEnvironment: CreateEnvironment = (options, events) => load(options, events);
/** Whether parts of this library that load later come over the network: a browser does not ask again for one that it did not get. */
export const loadsOverNetwork = true;

export { fetchText as readText } from "./face.ts";

/** Calls back when it is likely that the network is there again. */
export function onNetworkChange(changed: () => void): () => void {
  globalThis.addEventListener?.("online", changed);
  return () => globalThis.removeEventListener?.("online", changed);
}

/** Calls back when what has come in meanwhile has been seen to: by a message, for a hidden page's timers wait up to a minute. */
export function laterTurn(act: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    act();
  };
  port2.postMessage(0);
}
