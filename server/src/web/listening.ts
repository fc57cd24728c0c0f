import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { JechoError } from "@jecho/shared";

/** Listens there for a moment. @returns the port @throws JechoError `ARGUMENT_INVALID`, Error: as `listeningFailed` */
export async function tryPort(host: string, wanted: number): Promise<number> {
  const server = createServer().listen(wanted, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw listeningFailed(error as NodeJS.ErrnoException, host, wanted);
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Says in words why a host and port cannot be had: by `ARGUMENT_INVALID` where the host is no address of this machine. */
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
