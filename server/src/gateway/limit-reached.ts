import { type ErrorCode, JechoError } from "@jecho/shared";
import type { GatewayLimits } from "./gateway-limits.ts";

/** A refusal because a limit of the gateway is reached; operators are told which one. */
export class LimitReached extends JechoError {
  readonly limit: keyof GatewayLimits;

  constructor(limit: keyof GatewayLimits, code: ErrorCode, message: string) {
    super(code, message);
    this.limit = limit;
  }
}
