import type { AddressInfo, Server } from "node:net";

/** Has a server listen to this machine, by default at a free port. @returns the port */
export async function listening(server: Server, port = 0): Promise<number> {
  await new Promise<void>(resolve => server.listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
