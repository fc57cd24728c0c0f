import { isIPv4 } from "node:net";
import { JechoError } from "@jecho/shared";
import { checkOptions, type OptionNames } from "@jecho/shared/internal";
import { patternOf } from "../access/rights.ts";
import { SUBJECT, type TokenOptions } from "../access/tokens.ts";
import type { GatewayClusterOptions } from "../cluster/open-interconnect.ts";
import {
  COMMAND_SETTINGS,
  checkSetting,
  namesOf,
  SETTING_NAMES,
  type SettingName,
  settingOf,
} from "../configuration/settings.ts";
import { type GatewayLog, LOG_LEVELS } from "../operations/gateway-log.ts";
import type { OperationsOptions } from "../operations/operations-server.ts";
import type { TlsOptions } from "../web/certificate.ts";
import type { WebServerName } from "../web/web-server.ts";
import type { GatewayLimits } from "./gateway-limits.ts";

/** Options of `createGateway`. */
export interface GatewayOptions extends GatewayLimits {
  /** Address to listen at; "127.0.0.1" by default: this machine only. */
  readonly host?: string;
  /** Port to listen at; 0, the default, takes a free one. */
  readonly port?: number;
  /** Whether other processes of the same user may listen at this port, too: the system, if it is Linux, spreads connections over them. False by default. */
  readonly sharePort?: boolean;
  /**
   * The path, such as `/jecho`, that a proxy in front passes on as it is. Everything the gateway answers is
   * under it, and what it says of its address has it; "", the default, for none.
   */
  readonly path?: string;
  /** A certificate: then the gateway is reached by `https://` and `wss://` alone. None by default, as on this machine or behind a proxy that has one. */
  readonly tls?: TlsOptions;
  /**
   * The server of HTTP and WebSockets. By default uWebSockets.js where it has a binary for this machine
   * (Linux with glibc, macOS, Windows; Node 22), else `ws` on Node's own HTTP server, which takes twice the
   * processor time to send a small message to many clients. `log` is told where that is so.
   */
  readonly server?: WebServerName;
  /** A folder whose files are served over HTTP. */
  readonly staticFolder?: string;
  /** Origins that pages may connect from besides the gateway's own, such as `https://viewer.example`. */
  readonly origins?: readonly string[];
  /**
   * Names of hosts that the gateway answers its own pages under, such as `viewer.example`, besides `localhost`, all addresses and `host`. Under any other
   * name a page is a foreign one, whatever machine the name stands for.
   */
  readonly hosts?: readonly string[];
  /**
   * The tokens that connections have to bring, which say who they are and what they may do. By default none are wanted, and whoever reaches the gateway may do
   * anything: let it be reached from its own machine only.
   */
  readonly tokens?: TokenOptions;
  /**
   * Subjects that own channels, by patterns of the channels' names as in rights: `{ "weather/**": "sim" }`. Only with `tokens`. Another subject publishes there, or into
   * what is derived from it, only with the right `own`. A channel that no pattern is for belongs to the subject of its first producer, until the last producer has been
   * gone for `resumeWindowMs`.
   */
  readonly owners?: Readonly<Record<string, string>>;
  /**
   * Whether a gateway without `tokens` may listen at another address than those of its own machine alone (127.0.0.1, ::1, localhost): then whoever reaches it there may
   * do anything. Default: false.
   */
  readonly open?: boolean;
  /**
   * A file to which a line of JSON is added for each connection, each refusal, and each deed that takes more than the right to listen; none by default. At most 20 a
   * second of one connection are written, 200 of one subject and 1,000 of all; what is left out is counted.
   */
  readonly auditFile?: string;
  /**
   * The Content-Security-Policy of the files; by default they may use nothing but the gateway and its files, and no other site may embed them. What one of your own
   * lets in of other sites comes without cookies; `frame-ancestors` says who may embed them.
   */
  readonly contentPolicy?: string;
  /** A file that history is kept in, so that it survives a restart; none by default. Gateways of a list all have one, or none. */
  readonly historyFile?: string;
  /**
   * Whether each message has a checksum behind it (CRC-32), both ways: where there is no TLS, TCP alone lets a flipped bit pass now and then. A message that it finds
   * changed costs a connection, and no event. Default: false.
   */
  readonly checksums?: boolean;
  /**
   * Time that producers go on sending for a consumer that was cut off, in milliseconds; 30,000 by default.
   * With 0 nothing is kept for those who come back but a history that producers ask for.
   */
  readonly resumeWindowMs?: number;
  /** Life of a handover token, in milliseconds; 120,000 by default. */
  readonly handoverMs?: number;
  /** Silence after which a connection is tested, in milliseconds; 10,000 by default. */
  readonly heartbeatMs?: number;
  /** Time that a client may go without a whole message (it sends at least one per heartbeat), in milliseconds; 120,000 by default. */
  readonly messageTimeoutMs?: number;
  /**
   * Time that a process may take to answer the gateway, a client to say Hello, and a consumer to wait for its
   * modulator where nobody runs it yet, in milliseconds; 10,000 by default.
   */
  readonly requestTimeoutMs?: number;
  /** Time that the gateway waits for a producer that does not answer an installation which others have, in milliseconds; 2,000 by default. */
  readonly installTimeoutMs?: number;
  /**
   * Starts a process beside the gateway that runs modulators for producers that run none or no more: the client library's
   * `startModulating`. Without one they run with their consumers. It is given the gateway's address, `HOST:PORT` or `https://HOST:PORT`, what to show there, and what logs a line.
   */
  readonly modulating?: (address: string, token: string, say?: (line: string) => void) => Modulating;
  /**
   * Time that `close` gives the process of `modulating` to finish confirmed events, and waiting events to reach consumers,
   * in milliseconds; 5,000 by default, 0 for not at all.
   */
  readonly drainMs?: number;
  /**
   * Other gateways that share this one's channels: a client of any of them meets those of all. None by default. Each channel has its home at one of them, and when that
   * ends, its clients connect again and go on at another one. All of them want the same `tokens`.
   */
  readonly cluster?: GatewayClusterOptions;
  /** A port of its own where `/healthz`, `/readyz` and `/metrics` are answered; none by default. */
  readonly operations?: OperationsOptions;
  /** Where what an operator should know is said: `console`, or pino; nowhere by default. */
  readonly log?: GatewayLog;
}

/** A process beside the gateway that runs modulators. */
export interface Modulating {
  /** Resolves when it runs them, or has failed to start. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

const NAMES = {
  ...namesOf(SETTING_NAMES.filter(name => !isOfCommand(name))),
  modulating: true,
  log: true,
} as unknown as OptionNames<GatewayOptions>;

function isOfCommand(name: SettingName): boolean {
  return (COMMAND_SETTINGS as readonly SettingName[]).includes(name);
}

/** @throws JechoError `ARGUMENT_INVALID` naming the option */
export function checkGatewayOptions(options: GatewayOptions): void {
  checkOptions<GatewayOptions>("createGateway()", options, NAMES);
  for (const name of SETTING_NAMES) {
    const value = settingOf(options, name);
    if (value !== undefined) checkSetting(name, value);
  }
  const { origins = [], hosts = [], path = "", host = "127.0.0.1", tokens, open = false } = options;
  if (tokens === undefined && !open && !isOwnMachine(host))
    throw new JechoError(
      "ARGUMENT_INVALID",
      `at ${host} others reach the gateway, and without keys for tokens whoever does may do anything: give it some (tokens, --keys), or say that this is meant (open, --open)`,
    );
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(path))
    throw new JechoError("ARGUMENT_INVALID", `"${path}" is no path; one is like /jecho`);
  for (const origin of origins) checkOrigin(origin);
  for (const host of hosts) checkHost(host);
  checkOwners(options);
  checkLog(options);
  if (options.historyFile !== undefined && options.cluster !== undefined && "nats" in options.cluster)
    throw new JechoError(
      "ARGUMENT_INVALID",
      "gateways joined by NATS keep no history in a file: ask for durable histories, which NATS keeps",
    );
}

function checkLog({ log }: GatewayOptions): void {
  for (const level of LOG_LEVELS)
    if (log !== undefined && typeof log?.[level] !== "function")
      throw new JechoError(
        "ARGUMENT_INVALID",
        `log has no function "${level}"; an object with ${LOG_LEVELS.join(", ")} is wanted`,
      );
}

function checkOwners({ owners, tokens }: GatewayOptions): void {
  if (owners === undefined) return;
  if (tokens === undefined)
    throw new JechoError(
      "ARGUMENT_INVALID",
      "owners are subjects of tokens, which are wanted with keys alone",
    );
  for (const [pattern, subject] of Object.entries(owners)) {
    patternOf(pattern);
    if (typeof subject === "string" && SUBJECT.test(subject)) continue;
    throw new JechoError(
      "ARGUMENT_INVALID",
      `the owner of ${pattern} is not a subject that a token may have`,
    );
  }
}

/** Whether only programs and pages on this machine reach what listens there. */
export function isOwnMachine(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/**
 * Checks an origin. Browsers' origins are compared with it letter by letter: one with a path, or a capital in the
 * host's name, would never match.
 */
function checkOrigin(origin: unknown): void {
  const known = typeof origin === "string" && URL.canParse(origin) ? new URL(origin).origin : "null";
  if (origin === known && known !== "null") return;
  const hint = known === "null" ? "one is like https://viewer.example" : `did you mean ${known}?`;
  throw new JechoError("ARGUMENT_INVALID", `"${origin}" is no origin; ${hint}`);
}

/** Checks a host's name, which has no port: whoever reaches the gateway by the name does so by its port, or by that of a proxy in front. */
function checkHost(host: unknown): void {
  const known =
    typeof host === "string" && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
  if (host === known && known !== "") return;
  const hint = known === "" ? "one is like viewer.example" : `did you mean ${known}?`;
  throw new JechoError("ARGUMENT_INVALID", `"${host}" is no name of a host; ${hint}`);
}
