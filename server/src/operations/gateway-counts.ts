import { errorCode, JechoError } from "@jecho/shared";
import type { GatewayLimits } from "../gateway/gateway-limits.ts";
import { LimitReached } from "../gateway/limit-reached.ts";

/** Close code of a connection that sent a message larger than may be. */
const TOO_LARGE = 1009;

/** Counts since a gateway began, for operators. They are kept whether anybody looks or not: each costs an addition. */
export class GatewayCounts {
  /** Events that came in, their bytes as they crossed the wire, and events dropped for processes that did not keep up. */
  events = 0;
  bytes = 0;
  dropped = 0;
  /** Times that a channel's durable history was not stored any more. */
  unstored = 0;
  /** Requests that were refused, by code. */
  readonly refusals = new Map<string, number>();
  /** Connections that ended, by code. */
  readonly ended = new Map<string, number>();
  readonly #reached = new Map<keyof GatewayLimits, number>();

  /** Counts that somebody was refused, cut off, or lost something for this limit. */
  reached(limit: keyof GatewayLimits): void {
    add(this.#reached, limit);
  }

  timesReached(limit: keyof GatewayLimits): number {
    return this.#reached.get(limit) ?? 0;
  }

  /** A request was refused, or a connection is ended, for this reason. */
  failed(error: unknown): void {
    if (error instanceof LimitReached) this.reached(error.limit);
  }

  refused(error: unknown): void {
    this.failed(error);
    add(this.refusals, JechoError.from(error).code);
  }

  /** @param code with which a connection was closed, by whichever side */
  closed(code: number): void {
    if (code === TOO_LARGE) this.reached("limitBytes");
    add(this.ended, code >= 4000 && code < 5000 ? errorCode(code) : String(code));
  }
}

function add<K>(counts: Map<K, number>, name: K): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
