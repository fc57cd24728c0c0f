/** The gateway, for programs that start one themselves. */
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
