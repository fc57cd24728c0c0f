import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { listenAt } from "../web/listening.ts";
import { gatewayMetrics, type Measured } from "./gateway-metrics.ts";

/** Options of the port where operators' tools ask how a gateway is. */
export interface OperationsOptions {
  /** Port; 0 takes a free one. */
  readonly port: number;
  /** Address; "127.0.0.1" by default: this machine only. Whoever reaches it may read how much the gateway has, and no event. */
  readonly host?: string;
}

export interface OperationsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers `/healthz` (the process runs), `/readyz` (it takes clients) and `/metrics`. @throws Error where the port cannot be had */
export async function openOperations(
  { port, host = "127.0.0.1" }: OperationsOptions,
  measured: Measured,
): Promise<OperationsServer> {
  const registry = gatewayMetrics(measured);
  const server = createServer((request, response) => {
    const answer = request.method === "GET" ? request.url : undefined;
    if (answer === "/healthz") return say(response, 200, { status: "ok" });
    if (answer === "/readyz") {
      const why = measured.whyNotReady();
      return say(
        response,
        why === undefined ? 200 : 503,
        why === undefined ? { status: "ready" } : { status: "not ready", why },
      );
    }
    if (answer !== "/metrics")
      return say(response, 404, { error: "there are /healthz, /readyz and /metrics" });
    registry.metrics().then(
      text => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      (error: Error) => say(response, 500, { error: error.message }),
    );
  });
  const listened = await listenAt(server, host, port);
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    registry.clear();
    await once(server, "close");
  };
  return { port: listened, close };
}

function say(response: ServerResponse, status: number, content: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(`${JSON.stringify(content)}\n`);
}
