import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { JechoError } from "@jecho/shared";
import type { TemplatedApp, us_listen_socket } from "#uws";

type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  listening: (socket: us_listen_socket | false) => void,
) => void;

const LISTEN_EXCLUSIVE_PORT = 1;

/** Loads uWebSockets.js, or says which platforms its binary serves. */
export async function loadUws(): Promise<typeof import("#uws")> {
  try {
    return await import("#uws");
  } catch (error) {
    throw new Error(
      `The gateway's WebSocket server has no binary for ${process.platform} ${process.arch} with Node ${process.versions.node}. ` +
        "It serves Linux with glibc (x64, arm64), macOS (x64, arm64) and Windows (x64), on Node 22.",
      { cause: error },
    );
  }
}

/**
 * Has the app listen.
 *
 * @param port 0 takes a free one
 * @throws JechoError `ARGUMENT_INVALID` where the host is no address of this machine
 * @throws Error where the port cannot be had
 */
export async function listenAt(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  // A port that uWebSockets.js chose itself could not be taken again for a minute after a crash.
  const wanted = port === 0 ? await tryPort(host, 0) : port;
  // The official typings lack the form with host and options; without the option two gateways could share a port.
  const listen = app.listen.bind(app) as unknown as ListenExclusively;
  const socket = await new Promise<us_listen_socket | false>(resolve =>
    listen(host, wanted, LISTEN_EXCLUSIVE_PORT, resolve),
  );
  if (socket !== false) return socket;
  // uWebSockets.js does not say why, and Node does.
  await tryPort(host, wanted);
  throw new Error(`the gateway cannot listen at ${host}:${wanted}`);
}

/** Listens there for a moment. @returns the port */
async function tryPort(host: string, wanted: number): Promise<number> {
  const server = createServer().listen(wanted, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException, host, wanted);
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function explained(error: NodeJS.ErrnoException, host: string, port: number): Error {
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
