/** The gateway, for programs that start one themselves. */
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export { runGateway } from "./run-gateway.ts";
