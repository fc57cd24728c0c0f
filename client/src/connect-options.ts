import { JechoError } from "@jecho/shared";
import type { BackoffOptions } from "./backoff.ts";
import type { ConcentratorOptions } from "./concentrator/parts.ts";
import { checkQueueOptions, type EventQueueOptions } from "./event-queue.ts";
import { mostOf, type ProducerModulatorOptions } from "./open-options.ts";
import type { ConcentratorPlace } from "./places/place.ts";

/** How a session is made: for `connect`. */
export interface ConnectOptions {
  /** What the gateway's operator may see of this process. Default: "". */
  readonly name?: string;
  /** When to connect again after the connection broke: full jitter from 500 ms to 20 s by default. */
  readonly backoff?: BackoffOptions;
  /** How long one try to connect may take, in milliseconds; 10,000 by default. */
  readonly connectTimeoutMs?: number;
  /** The queue that all producers share that have none of their own. */
  readonly queue?: EventQueueOptions;
  /**
   * Where the concentrator runs, and the connection with it: by default beside the application, in a worker thread of Node
   * (`worker`), or in the SharedWorker of the page's origin (`shared`). A place that cannot be had gives way to the next.
   * `here` starts faster and answers sooner, but lives only while the application's own thread yields.
   */
  readonly place?: ConcentratorPlace;
  /** A token that another device's session made by `handover()`: this session takes over what that one had open. */
  readonly handover?: string;
  /** How this process runs the modulators of its producers' consumers. */
  readonly modulators?: ProducerModulatorOptions;
  /** For a process beside the gateway, which that has started: runs modulators in the stead of producers. What to show there. */
  readonly modulating?: string;
  /**
   * Gets what goes wrong without an endpoint to blame, such as a refused update, and what ended a consumer that nobody listens to, neither
   * to its status nor with an `onError` of its own; by default thrown as an uncaught error. `MODULATOR_LEFT_OUT`, which others bring about, is
   * never thrown: a modulator does not run for this session's producers, and its consumers miss what these raise.
   */
  readonly onError?: (error: JechoError) => void;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** A gateway's address as applications write it. */
export interface GatewayAddress {
  /** `HOST:PORT`, and the path that it is reached under, if there is one: `HOST:PORT/PATH`. */
  readonly place: string;
  readonly secure: boolean;
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function parseAddress(address: string): GatewayAddress {
  const match =
    typeof address === "string"
      ? /^(?:(wss?|https?|jecho):\/\/)?([^/\s?#]+)((?:\/[^/\s?#]+)*)\/?$/.exec(address)
      : null;
  const [, scheme = "", host = "", written = ""] = match ?? [];
  // A port beyond 65535, say, or one that is no number.
  const url = `ws://${host}${written}`;
  const path = URL.canParse(url) ? new URL(url).pathname.replace(/\/$/, "") : undefined;
  if (match === null || path === undefined || (path !== "" && scheme === "jecho"))
    throw new JechoError(
      "ARGUMENT_INVALID",
      `"${String(address).slice(0, 200)}" is not the address of a gateway; HOST:PORT is wanted, as localhost:8080, or HOST:PORT/PATH where it is reached under a path`,
    );
  return { place: `${host}${path}`, secure: scheme === "wss" || scheme === "https" };
}

/** What a session's concentrator has to know, with defaults for what was left out; checks the other options. @throws JechoError `ARGUMENT_INVALID` */
export function concentratorOptions(
  { place, secure }: GatewayAddress,
  options: ConnectOptions,
): ConcentratorOptions {
  checkQueueOptions(options.queue ?? {});
  return {
    url: `${secure ? "wss" : "ws"}://${place}/`,
    name: options.name ?? "",
    backoff: options.backoff ?? {},
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    handover: options.handover ?? "",
    modulating: options.modulating ?? "",
    modulators: { ...options.modulators, most: mostOf(options.modulators?.most) },
  };
}
