// The gateway of `chaos`: as the command starts it, with shorter times.
import { syncBuiltinESMExports } from "node:module";
import net, { type NetConnectOpts } from "node:net";
import { startModulating } from "@jecho/client/modulating";
import { createGateway, type GatewayOptions, lineLog } from "@jecho/server";
import { setClock } from "../clock.ts";

/** Its command line, as JSON. */
export interface ChaosGatewayOptions extends GatewayOptions {
  /** Runs modulators in a process beside it. */
  readonly modulates: boolean;
  /** Ports to which it connects instead of others, by those. */
  readonly ways?: Readonly<Record<number, number>>;
}

const { modulates, ways = {}, ...options } = JSON.parse(process.argv[2] as string) as ChaosGatewayOptions;
const { connect } = net;
net.connect = ((to: NetConnectOpts, ...rest: []) =>
  connect("port" in to ? { ...to, port: ways[to.port] ?? to.port } : to, ...rest)) as typeof connect;
syncBuiltinESMExports();
const gateway = await createGateway({
  ...options,
  ...(modulates && { modulating: startModulating }),
  log: lineLog(line => process.connected && process.send?.({ log: line })),
});
process.on("message", ({ clockMs }: { clockMs: number }) => setClock(clockMs));
process.send?.({ address: gateway.address });
await new Promise<void>(resolve => {
  process.once("SIGTERM", resolve);
  process.once("disconnect", resolve);
});
await gateway.close();
if (process.connected) process.disconnect();
