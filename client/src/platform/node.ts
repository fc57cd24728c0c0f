import { ModulatorHost } from "@jecho/modulators/host";
import WebSocket from "ws";
import type { HostFactory, Socket } from "./face.ts";

/** A WebSocket of the package ws. */
export function openSocket(url: string, protocol: string): Socket {
  return new WebSocket(url, protocol, { perMessageDeflate: false }) as Socket;
}

/** Modulators run in a child process. */
export const createHost: HostFactory | undefined = events => new ModulatorHost(events);

/** A server's network changes are seen by its sockets. */
export function onNetworkChange(_changed: () => void): () => void {
  return () => {};
}
