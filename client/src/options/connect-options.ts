import { checkAllowed } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import { checkKind, checkOptions } from "@jecho/shared/internal";
import type { BackoffOptions } from "../concentrator/backoff.ts";
import type { ConcentratorPlace } from "../places/place.ts";
import { checkQueueOptions, type EventQueueOptions } from "../queues/queue-options.ts";
import type { ConcentratorOptions } from "./concentrator-options.ts";
import { NEIGHBOUR } from "./option-names.ts";
import type { ProducerModulatorOptions } from "./producer-options.ts";
import type { Tracing } from "./tracing.ts";

/**
 * Options of `connect`. Sessions of one thread of a program, and those of all tabs of an origin, share one
 * connection where they connect to the same address with the same `name`, `others`, `backoff`, `connectTimeoutMs`,
 * `place`, `modulators` and `modulating`, all with `tracing` or all without: whoever wants a connection apart gives it
 * another name. A session with a `token` or `handover` has one of its own, and so has a page's with the place `worker`.
 */
export interface ConnectOptions {
  /** Name that the gateway's operator sees of this process, in the audit log. Default: "". */
  readonly name?: string;
  /**
   * Addresses of other gateways of the same cluster: when the connection breaks, or cannot be made, the next one of them is tried, and what was open goes on there.
   * Default: none.
   */
  readonly others?: readonly string[];
  /**
   * Other gateways whose channels this session may use by their full names, and who it is there. Names that say the address of a gateway lead there without
   * being listed here, but no token is shown at an address that only a name says. Default: none.
   */
  readonly neighbours?: readonly Neighbour[];
  /** When to connect again after the connection broke: full jitter from 500 ms to 20 s by default. */
  readonly backoff?: BackoffOptions;
  /** Time that one try to connect may take, in milliseconds; 10,000 by default. */
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
  /**
   * Says to the gateway who this is: a JSON Web Token, or a function that gives one, which is called for each connection, and again before the one that it gave is
   * too old. A session with a token has a connection of its own. One whose token the gateway does not take is refused with `TOKEN_INVALID`.
   */
  readonly token?: string | (() => string | Promise<string>);
  /** Options for the modulators that consumers bring to this session's producers. */
  readonly modulators?: ProducerModulatorOptions;
  /**
   * Records what becomes of events, as `openTelemetry()` of `@jecho/client/opentelemetry` does; their handlers get `info.traceId` then. Default:
   * none, which costs nothing.
   */
  readonly tracing?: Tracing;
  /** For a process beside the gateway, which that has started: runs modulators in the stead of producers. What to show there. */
  readonly modulating?: string;
  /**
   * Gets what goes wrong without an endpoint to blame, such as a refused update, and what ended a consumer that nobody listens to, neither
   * to its status nor with an `onError` of its own; by default written to `console.error`, and what the application's own delegate throws
   * thrown as an uncaught error. Two warnings, which others bring about, are told to it alone: `MODULATOR_LEFT_OUT`, a modulator does not run for
   * this session's producers, and its consumers miss what these raise; `TYPE_UNREAD`, a channel has consumers, and none of them can read the type
   * of a producer of this session.
   */
  readonly onError?: (error: JechoError) => void;
}

/** A gateway beside the session's own: its address, and the options of `connect` that are its own. */
export interface Neighbour extends Pick<ConnectOptions, "others" | "token"> {
  /** As `connect` takes it. */
  readonly address: string;
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
  // The identity of a gateway says who it is, not where.
  const isNone = match === null || path === undefined || host.startsWith("~");
  if (isNone || (path !== "" && scheme === "jecho"))
    throw new JechoError(
      "ARGUMENT_INVALID",
      `"${String(address).slice(0, 200)}" is not the address of a gateway, as localhost:8080 or host:port/path`,
    );
  // Browsers let no page that came by https connect by anything less to where it came from.
  const isOwn = scheme === "" && globalThis.location?.origin === `https://${host}`;
  return { place: `${host}${path}`, secure: isOwn || scheme === "wss" || scheme === "https" };
}

export function urlOf({ place, secure }: GatewayAddress): string {
  return `${secure ? "wss" : "ws"}://${place}/`;
}

/** The address as applications write it. */
export function textOf({ place, secure }: GatewayAddress): string {
  return secure ? `https://${place}` : place;
}

/** Addresses of a session's neighbours. @throws JechoError `ARGUMENT_INVALID` */
export function neighbourAddresses(neighbours: readonly Neighbour[] | undefined): GatewayAddress[] {
  return listOf("neighbours", neighbours).map(neighbour => {
    checkOptions<Neighbour>("neighbours", neighbour, NEIGHBOUR);
    return parseAddress(neighbour.address);
  });
}

function listOf<T>(name: string, list: readonly T[] = []): readonly T[] {
  if (!Array.isArray(list)) checkKind(name, list, "a list");
  return list;
}

/**
 * The options for a session's concentrator, with defaults for what was left out; checks the other options.
 *
 * @throws JechoError `ARGUMENT_INVALID`
 */
export function concentratorOptions(gateway: GatewayAddress, options: ConnectOptions): ConcentratorOptions {
  checkQueueOptions(options.queue ?? {});
  checkAllowed(options.modulators?.allow);
  return {
    url: urlOf(gateway),
    others: listOf("others", options.others).map(address => urlOf(parseAddress(address))),
    name: options.name ?? "",
    backoff: options.backoff ?? {},
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    handover: options.handover ?? "",
    modulating: options.modulating ?? "",
    hasToken: options.token !== undefined,
    isTraced: options.tracing !== undefined,
    modulators: { ...options.modulators, most: options.modulators?.most ?? Number.POSITIVE_INFINITY },
  };
}
