import { JechoError } from "@jecho/shared";
import type { Interconnect } from "./interconnect.ts";
import type { NatsClusterOptions } from "./nats-connection.ts";
import { type TcpClusterOptions, TcpInterconnect } from "./tcp-interconnect.ts";

/** The gateways that share channels, a client of any of them meets those of all others: by a list of their addresses, or by NATS. */
export type GatewayClusterOptions = TcpClusterOptions | { readonly nats: NatsClusterOptions };

/**
 * Makes this gateway known as a member, or what it needs to become one.
 *
 * @param hasFile whether it keeps histories in a file
 * @throws JechoError `ARGUMENT_INVALID` where the options are none, or NATS cannot be used
 */
export async function openInterconnect(
  options: GatewayClusterOptions,
  hasFile: boolean,
  log: (line: string) => void,
): Promise<Interconnect> {
  if (!("nats" in options)) return TcpInterconnect.open(options, hasFile, log);
  if ("members" in options)
    throw new JechoError("ARGUMENT_INVALID", "cluster: its members are listed, or found by NATS, not both");
  // Who does not use NATS does not load it.
  const { NatsInterconnect } = await import("./nats-interconnect.ts");
  return NatsInterconnect.open(options.nats, log);
}
