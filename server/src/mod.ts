/** The gateway, for programs that start one themselves. */
export { createGateway, type Gateway, type GatewayStats } from "./gateway.ts";
export type { GatewayLimits } from "./gateway-limits.ts";
export type { GatewayOptions } from "./gateway-options.ts";
export { runGateway } from "./run-gateway.ts";
