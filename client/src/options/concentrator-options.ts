import type { BackoffOptions } from "../concentrator/backoff.ts";
import type { ProducerModulatorOptions } from "./producer-options.ts";

/** Options of a connection to a gateway. */
export interface LinkOptions {
  /** `ws://HOST:PORT/` or `wss://...` */
  readonly url: string;
  /** Addresses of other gateways of its cluster, which serve as well. */
  readonly others: readonly string[];
  /** Name of this process for the gateway's operator; empty by default. */
  readonly name: string;
  readonly backoff: BackoffOptions;
  /** Time that a connection has until `Welcome`, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** The token of another device's session, or empty. It is good once. */
  readonly handover: string;
  /** Token that the gateway's own process for modulators shows, or empty. */
  readonly modulating: string;
  /** Whether the connection only asks which gateway is there. False by default. */
  readonly inquires?: boolean;
  /** Whether the application has a token for each connection. Its text never stands among options. */
  readonly hasToken: boolean;
}

/** Options of a process' concentrator. */
export interface ConcentratorOptions extends LinkOptions {
  readonly modulators: ProducerModulatorOptions;
  /** Whether sessions are told how long modulators took for their producers' events. */
  readonly isTraced: boolean;
}
