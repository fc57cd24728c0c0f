/** A SharedWorker: the concentrators of all tabs of an origin, one for each gateway. */
import type { ConcentratorOptions } from "../concentrator/concentrator.ts";
import { Hub } from "./hub.ts";
import { serve } from "./serve.ts";

const hubs = new Map<string, Hub>();

function hubOf(options: ConcentratorOptions): Hub {
  // What another device hands over is for one session alone.
  if (options.handover !== "") return new Hub(options);
  const known = hubs.get(options.url);
  if (known?.isUsable) return known;
  const hub = new Hub(options);
  hubs.set(options.url, hub);
  return hub;
}

/** Whoever gets a lock that a page held for life knows that the page is no more. */
function watch(lock: string, gone: () => void): void {
  void navigator.locks.request(lock, gone);
}

(globalThis as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  serve(
    {
      sharesMemory: false,
      post: (message, transfer = []) => port.postMessage(message, transfer),
      listen: receive => {
        port.onmessage = ({ data }) => receive(data);
      },
      close: () => port.close(),
    },
    hubOf,
    watch,
  );
};
