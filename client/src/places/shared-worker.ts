/** A SharedWorker: the concentrators of all tabs of an origin, one for each gateway. */
import { Lenders, ModulatorEnvironment } from "@jecho/modulators/browser";
import type { ConcentratorOptions } from "../concentrator/parts.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import { Hub } from "./hub.ts";
import { serve } from "./serve.ts";

/** What a page says of itself first, with a port by which it lends workers to this one. */
export interface Visitor {
  /** A lock that it holds for as long as it lives. */
  readonly lock: string;
}

/** What this worker says of itself first. */
export interface Host {
  /** A lock that it holds for as long as it lives. */
  readonly life: string;
}

const hubs = new Map<string, Hub>();
const lenders = new Lenders();

const createEnvironment: CreateEnvironment = (options, events) =>
  new ModulatorEnvironment(options, events, undefined, lenders);

function hubOf(options: ConcentratorOptions): Hub {
  // What another device hands over is for one session alone.
  if (options.handover !== "") return new Hub(options, createEnvironment);
  const known = hubs.get(options.url);
  if (known?.isUsable) return known;
  const hub = new Hub(options, createEnvironment);
  hubs.set(options.url, hub);
  return hub;
}

const life = `jecho-${crypto.randomUUID()}`;
/** Resolves when the lock is held: known before, a page would have it at once. */
const living = new Promise<void>(resolve => {
  void navigator.locks.request(life, () => {
    resolve();
    return new Promise(() => {});
  });
});

(globalThis as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  void living.then(() => port.postMessage({ life } satisfies Host));
  let gone = (): void => {};
  const close = serve(
    {
      sharesMemory: false,
      post: (message, transfer = []) => port.postMessage(message, transfer),
      listen: receive => {
        port.onmessage = ({ data, ports: [hosts] }) => {
          if (hosts === undefined) return receive(data);
          gone = lenders.add(hosts);
          // Whoever gets a lock that a page held for life knows that the page is no more.
          void navigator.locks.request((data as Visitor).lock, close);
        };
      },
      close: () => {
        port.close();
        gone();
      },
    },
    hubOf,
  );
};
