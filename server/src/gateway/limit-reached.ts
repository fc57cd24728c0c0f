import { type ErrorCode, JechoError } from "@jecho/shared";
import type { GatewayLimits } from "./gateway-limits.ts";

/** What is refused because a limit of the gateway is reached: which one, operators are told. */
export class LimitReached extends JechoError {
  readonly limit: keyof GatewayLimits;

  constructor(limit: keyof GatewayLimits, code: ErrorCode, message: string) {
    super(code, message);
    this.limit = limit;
  }
}
