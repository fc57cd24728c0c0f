/** The modulator host in a page's worker, which has no clock of its processor time. */
import { serveWorker, type WorkerMessage } from "./serve-worker.ts";

interface WorkerScope {
  onmessage: ((event: { data: WorkerMessage }) => void) | null;
  postMessage(message: Uint8Array, transfer: ArrayBuffer[]): void;
  close(): void;
}

const scope = globalThis as unknown as WorkerScope;
const nowMs = (): number => performance.now();
const take = serveWorker(
  { post: bytes => scope.postMessage(bytes, [bytes.buffer]), close: () => scope.close() },
  { cpuMs: nowMs, nowMs },
);
scope.onmessage = ({ data }) => take(data);
