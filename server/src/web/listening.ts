import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { JechoError } from "@jecho/shared";

export const LOOPBACK = "127.0.0.1";

/** Lets a server listen there. @returns the port @throws JechoError `ARGUMENT_INVALID`, Error: as `listeningFailed` */
export async function listenAt(
  server: Server,
  host: string,
  port: number,
  reusePort = false,
): Promise<number> {
  try {
    server.listen({ host, port, exclusive: true, reusePort });
    await once(server, "listening");
  } catch (error) {
    throw listeningFailed(error as NodeJS.ErrnoException, host, port);
  }
  return (server.address() as AddressInfo).port;
}

/** Listens there for a moment. @returns, @throws as `listenAt` */
export async function tryPort(host: string, wanted: number): Promise<number> {
  const server = createServer();
  const port = await listenAt(server, host, wanted);
  server.close();
  await once(server, "close");
  return port;
}

/** The error for a host and port that cannot be used: `ARGUMENT_INVALID` where the host is no address of this machine. */
export function listeningFailed(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case "EADDRNOTAVAIL":
      return new JechoError(
        "ARGUMENT_INVALID",
        `this machine has no address ${host}: a gateway listens at one of its own, or at 0.0.0.0 for all of them`,
      );
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new JechoError("ARGUMENT_INVALID", `the host ${host} is not known: ${error.message}`);
    case "EADDRINUSE":
      return new Error(`the gateway cannot listen at ${host}:${port}: another program has this port`);
    case "EACCES":
      return new Error(`the gateway cannot listen at ${host}:${port}: this user may not have the port`);
    default:
      return new Error(`the gateway cannot listen at ${host}:${port}: ${error.message}`);
  }
}
