/** The modulator host in a worker thread of Node. */
import { parentPort } from "node:worker_threads";
import { serveWorker, type WorkerMessage } from "./serve-worker.ts";

const take = serveWorker(
  {
    post: bytes => parentPort?.postMessage(bytes, [bytes.buffer]),
    fail: failure => parentPort?.postMessage(failure),
    close: () => process.exit(0),
  },
  {
    cpuMs() {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1000;
    },
    nowMs: () => performance.now(),
  },
);
parentPort?.on("message", (message: WorkerMessage) => take(message));
