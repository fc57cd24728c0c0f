/** A worker thread of Node: the concentrators of a process. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { createProduction } from "../concentrator/production.ts";
import { Hubs } from "./hubs.ts";
import { serve } from "./serve.ts";

const hubs = new Hubs({ loadProduction: () => createProduction });

/** A port is a new session's; anything else says that none will come. */
parentPort?.on("message", (port: MessagePort | undefined) => {
  if (port === undefined) {
    parentPort?.close();
    return;
  }
  serve(
    {
      sharesMemory: true,
      post: (message, transfer) => port.postMessage(message, transfer),
      listen: receive => void port.on("message", receive),
      close: () => port.close(),
    },
    hubs,
  );
});
