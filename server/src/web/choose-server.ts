import { JechoError } from "@jecho/shared";
import { UwsServer } from "./uws-server.ts";
import type { WebHandlers, WebServer, WebServerName, WebServerOptions } from "./web-server.ts";
import { WsServer } from "./ws-server.ts";

/** A gateway's server, and the reason for the choice. */
export interface ChosenServer {
  readonly name: WebServerName;
  /** Why it is not the faster server, and what that costs; undefined where it is, or was asked for. */
  readonly note: string | undefined;
  readonly create: (options: WebServerOptions, handlers: WebHandlers) => WebServer;
}

const COST = "the same for clients, but a small message to many takes twice the processor time";

/**
 * Chooses the server of HTTP and WebSockets.
 *
 * @param wanted undefined for uWebSockets.js where it has a binary for this machine, else ws
 * @throws JechoError `ARGUMENT_INVALID` where uWebSockets.js is wanted, and has none
 */
export async function chooseServer(wanted: WebServerName | undefined): Promise<ChosenServer> {
  const ws: ChosenServer = {
    name: "ws",
    note: undefined,
    create: (options, handlers) => new WsServer(options, handlers),
  };
  if (wanted === "ws") return ws;
  try {
    const uws = await import("#uws");
    const create = (options: WebServerOptions, handlers: WebHandlers): WebServer =>
      new UwsServer(uws, options, handlers);
    return { name: "uWebSockets.js", note: undefined, create };
  } catch (error) {
    const why = `uWebSockets.js has no binary for ${process.platform} ${process.arch} with Node ${process.versions.node}`;
    if (wanted !== undefined)
      throw new JechoError(
        "ARGUMENT_INVALID",
        `${why}: it serves Linux with glibc (x64, arm64), macOS (x64, arm64) and Windows (x64), on Node 22; ws serves everywhere`,
        { cause: error },
      );
    return { ...ws, note: `${why}, so ws serves: ${COST}` };
  }
}
