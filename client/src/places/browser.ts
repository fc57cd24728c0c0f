import { lendWorkers } from "@jecho/modulators/browser";
import { JechoError } from "@jecho/shared";
import { SUBPROTOCOLS } from "@jecho/shared/internal";
import { openSocket, refusalAt } from "#platform";
import { Backoff } from "../concentrator/backoff.ts";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import type { MessageEnd, ToPlace } from "./message-end.ts";
import type { OpenHere } from "./place.ts";
import type { Host, Visitor } from "./shared-worker.ts";

/** Calls back when the page is shown again: its connection may have died unseen. */
export function watchPage(shown: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const visible = (): void => {
    if (document.visibilityState === "visible") shown();
  };
  document.addEventListener("visibilitychange", visible);
  return () => document.removeEventListener("visibilitychange", visible);
}

/** All tabs of an origin have one connection. */
export const defaultPlace = "shared";

/**
 * Loads the code for a concentrator in this thread: pages whose connection has a thread of its own need not load it. A browser does not
 * ask again for code that it did not get; so it is not asked before the gateway is there, for the page's server may be away with that.
 *
 * @param away called each time that the gateway is not there
 * @throws the signal's reason
 */
export async function loadHere(
  { url, backoff, connectTimeoutMs }: ConcentratorOptions,
  away: (error: JechoError) => void,
  signal: AbortSignal,
): Promise<OpenHere> {
  const waits = new Backoff(backoff);
  while (!(await answers(url, connectTimeoutMs))) {
    signal.throwIfAborted();
    away(new JechoError("CONNECTION_LOST", `no connection to a gateway at ${url} could be made`));
    await new Promise(resolve => setTimeout(resolve, waits.nextMs()));
    signal.throwIfAborted();
  }
  return (await import("./page-here.ts")).openHere;
}

/** Whether a gateway is there, though it may refuse this page. Asked as it is connected to, which whoever made the page allows. */
async function answers(url: string, withinMs: number): Promise<boolean> {
  const socket = openSocket(url, SUBPROTOCOLS);
  const opens = await new Promise<boolean>(resolve => {
    const timer = setTimeout(resolve, withinMs, false);
    const done = (opens: boolean) => () => {
      clearTimeout(timer);
      resolve(opens);
    };
    socket.onopen = done(true);
    socket.onerror = socket.onclose = done(false);
  });
  socket.close();
  return opens || (await refusalAt(url)) !== undefined;
}

/** A worker of this page, or the one that all pages of the origin share; undefined where there is no such thing. */
export function startThread(place: "worker" | "shared"): MessageEnd | undefined {
  try {
    return place === "shared" ? startShared() : startWorker();
  } catch {
    // A page may be forbidden to start workers.
    return undefined;
  }
}

function startWorker(): MessageEnd | undefined {
  if (typeof Worker === "undefined") return undefined;
  const worker = new Worker(new URL("./page-worker.ts", import.meta.url), { type: "module" });
  return {
    sharesMemory: globalThis.crossOriginIsolated,
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (receive, failed) => {
      worker.onmessage = ({ data }) => receive(data);
      worker.onerror = ({ message }) => failed(message ?? "its program could not be loaded");
    },
    // It ends by itself when its connection has.
    close: () => {},
  };
}

function startShared(): MessageEnd | undefined {
  // Without locks, which pages of insecure origins have not, nothing would tell the worker that a tab is gone.
  if (typeof SharedWorker === "undefined" || navigator.locks === undefined) return undefined;
  const lock = `jecho-${crypto.randomUUID()}`;
  let release: (() => void) | undefined;
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  const worker = new SharedWorker(new URL("./shared-worker.ts", import.meta.url), { type: "module" });
  const { port } = worker;
  const closing = new AbortController();
  const close = (): void => {
    closing.abort();
    release?.();
    port.close();
  };
  // A frozen page takes nothing, while this worker goes on: events have to wait at the gateway, each consumer's by its own policy.
  for (const [event, frozen] of [
    ["freeze", true],
    ["resume", false],
  ] as const) {
    const tell = (): void => port.postMessage({ is: "frozen", frozen } satisfies ToPlace);
    document.addEventListener(event, tell, { signal: closing.signal });
  }
  const hosts = new MessageChannel();
  const reclaim = lendWorkers(hosts.port1);
  // Posted before the lock is held, its name would let the worker have it at once.
  let waiting: (() => void)[] | undefined = [
    () => port.postMessage({ lock } satisfies Visitor, [hosts.port2]),
  ];
  void navigator.locks.request(lock, () => {
    for (const post of waiting ?? []) post();
    waiting = undefined;
    return held;
  });
  return {
    // A SharedWorker's memory is never shared with a page.
    sharesMemory: false,
    post: (message, transfer = []) => {
      if (waiting === undefined) port.postMessage(message, transfer);
      else waiting.push(() => port.postMessage(message, transfer));
    },
    listen: (receive, failed) => {
      // A SharedWorker whose process died says nothing: whoever gets the lock that it held for life knows.
      const watch = ({ life }: Host): void => {
        const gone = (): void => end("its process died");
        navigator.locks.request(life, { signal: closing.signal }, gone).catch(() => {});
      };
      const end = (why: string): void => {
        reclaim();
        close();
        failed(why);
      };
      port.onmessage = ({ data }) => (Array.isArray(data) ? receive(data) : watch(data));
      worker.onerror = () => end("its program could not be loaded");
    },
    close,
  };
}
