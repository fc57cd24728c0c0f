/** A SharedWorker: the concentrators of all tabs of an origin. */
import { createEnvironment, Lenders } from "@jecho/modulators/browser";
import { Hubs } from "./hubs.ts";
import { loadProduction } from "./late-program.ts";
import { serve } from "./serve.ts";

/** A page's first message, with a port by which it lends workers to this one. */
export interface Visitor {
  /** A lock that it holds for as long as it lives. */
  readonly lock: string;
}

/** This worker's first message. */
export interface Host {
  /** A lock that it holds for as long as it lives. */
  readonly life: string;
}

const lenders = new Lenders();
const hubs = new Hubs({
  loadProduction,
  createEnvironment: (options, events) => createEnvironment(options, events, { lenders }),
});

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
    hubs,
  );
};
