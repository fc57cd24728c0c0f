/** The modulator host in a page's worker, which has no clock of its processor time. */
import { serveWorker, type WorkerFailure, type WorkerMessage } from "./serve-worker.ts";

/** Where messages come from, and go to. */
interface Way {
  onmessage: ((event: { data: WorkerMessage; ports: readonly Way[] }) => void) | null;
  postMessage(message: Uint8Array | WorkerFailure, transfer: ArrayBuffer[]): void;
}

const scope = globalThis as unknown as Way & { close(): void };
let way: Way = scope;
const nowMs = (): number => performance.now();
const take = serveWorker(
  {
    post: bytes => way.postMessage(bytes, [bytes.buffer]),
    fail: failure => way.postMessage(failure, []),
    close: () => scope.close(),
  },
  { cpuMs: nowMs, nowMs },
);
scope.onmessage = ({ data, ports: [lent] }) => {
  if (lent === undefined) return take(data);
  // The page that started it did so for somebody else.
  way = lent;
  lent.onmessage = ({ data }) => take(data);
};
