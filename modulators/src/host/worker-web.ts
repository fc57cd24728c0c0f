/** The modulator host in a page's worker, which has no clock of its processor time. */
import { serveWorker, type WorkerFailure, type WorkerMessage } from "./serve-worker.ts";

interface WorkerScope {
  onmessage: ((event: { data: WorkerMessage }) => void) | null;
  postMessage(message: Uint8Array | WorkerFailure, transfer: ArrayBuffer[]): void;
  close(): void;
}

const scope = globalThis as unknown as WorkerScope;
const nowMs = (): number => performance.now();
const take = serveWorker(
  {
    post: bytes => scope.postMessage(bytes, [bytes.buffer]),
    fail: failure => scope.postMessage(failure, []),
    close: () => scope.close(),
  },
  { cpuMs: nowMs, nowMs },
);
scope.onmessage = ({ data }) => take(data);
