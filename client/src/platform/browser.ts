import type { HostFactory, Socket } from "./face.ts";

/** The browser's own WebSocket. */
export function openSocket(url: string, protocol: string): Socket {
  return new WebSocket(url, protocol);
}

/** Pages that produce run no modulators yet. */
export const createHost: HostFactory | undefined = undefined;

export { fetchText as readText } from "../modulator-file.ts";

/** Calls back when it is likely that the network is there again, or that a socket died unseen. */
export function onNetworkChange(changed: () => void): () => void {
  const visible = (): void => {
    if (document.visibilityState === "visible") changed();
  };
  globalThis.addEventListener?.("online", changed);
  if (typeof document !== "undefined") document.addEventListener("visibilitychange", visible);
  return () => {
    globalThis.removeEventListener?.("online", changed);
    if (typeof document !== "undefined") document.removeEventListener("visibilitychange", visible);
  };
}
