/** The gateway, for programs that start one themselves. */
export {
  ALGORITHMS,
  createToken,
  createTokenKeys,
  type TokenAlgorithm,
  type TokenClaims,
  type TokenKeys,
} from "./access/issuing.ts";
export type { JsonWebKeySet } from "./access/key-set.ts";
export { RIGHTS, type Right } from "./access/rights.ts";
export type { TokenOptions } from "./access/tokens.ts";
export { GATEWAY_FLAGS } from "./configuration/command-line.ts";
export { createGateway, type Gateway } from "./gateway/gateway.ts";
export type { GatewayLimits, GatewayStats } from "./gateway/gateway-limits.ts";
export type { GatewayOptions } from "./gateway/gateway-options.ts";
export { printConfiguration, runGateway } from "./gateway/run-gateway.ts";
export { type GatewayLog, type LogLevel, lineLog } from "./operations/gateway-log.ts";
export type { OperationsOptions } from "./operations/operations-server.ts";
export type { TlsOptions } from "./web/certificate.ts";
export type { WebServerName } from "./web/web-server.ts";
