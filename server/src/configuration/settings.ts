import { JechoError } from "@jecho/shared";
import type { TokenOptions } from "../access/tokens.ts";
import type { NatsClusterOptions } from "../cluster/nats-connection.ts";
import type { TcpClusterOptions } from "../cluster/tcp-interconnect.ts";
import { DEFAULT_LIMITS, type GatewayLimits } from "../gateway/gateway-limits.ts";
import type { GatewayOptions } from "../gateway/gateway-options.ts";
import { LOG_LEVELS } from "../operations/gateway-log.ts";
import type { OperationsOptions } from "../operations/operations-server.ts";
import type { TlsOptions } from "../web/certificate.ts";
import { WEB_SERVERS } from "../web/web-server.ts";

/** The kinds of an option's value. `keys` is a path, an address, or the keys themselves, which are never shown. */
type SettingKind = "text" | "path" | "number" | "switch" | "list" | "pairs" | "keys";

/** One option of a gateway: how it is checked, and how it is written on the command line and in the environment. */
export interface Setting {
  readonly kind: SettingKind;
  /** Name on the command line, without the dashes; undefined for a limit, which is given as `--limit NAME=NUMBER`. */
  readonly flag: string | undefined;
  /** Stands for the value in the list of options. */
  readonly takes?: string;
  /** Description in the list of options. */
  readonly says: string;
  /** Bounds of a number. */
  readonly bounds?: readonly [least: number, most: number];
  /** Default of `jecho gateway`, if that is one value. */
  readonly usual?: string | number | boolean;
  /** Values that a text may have; any by default. */
  readonly choices?: readonly string[];
}

/** Options of `createGateway` that have options of their own. */
interface Nested {
  cluster: TcpClusterOptions;
  "cluster.nats": NatsClusterOptions;
  tls: TlsOptions;
  tokens: TokenOptions;
  operations: OperationsOptions;
}

/** Options that only a program can give: functions. The command has `modulators` for the one. */
type FunctionOptions = "log" | "modulating";

type NestedName = { [Outer in keyof Nested]: `${Outer}.${string & keyof Nested[Outer]}` }[keyof Nested];

/** Settings that the command alone has. */
export const COMMAND_SETTINGS = ["workers", "modulators", "logLevel", "logFormat"] as const;
type CommandSetting = (typeof COMMAND_SETTINGS)[number];

/** The name of a setting: that of an option of `createGateway`, `tls.keyFile` for one of an option's own, or one that the command alone has. */
export type SettingName =
  | Exclude<keyof GatewayOptions, keyof Nested | FunctionOptions>
  | NestedName
  | CommandSetting;

/** The longest that timers take. */
const MOST_MS = 2 ** 31 - 1;

/** Bounds of limits that are not just any number. */
const LIMIT_BOUNDS: { readonly [Name in keyof GatewayLimits]?: readonly [number, number] } = {
  limitBytes: [1, 2 ** 32 - 1],
  blockMs: [1, MOST_MS],
};

const limits = Object.fromEntries(
  Object.entries(DEFAULT_LIMITS).map(([name, usual]): [string, Setting] => [
    name,
    {
      kind: "number",
      flag: undefined,
      says: "",
      bounds: LIMIT_BOUNDS[name as keyof GatewayLimits] ?? [0, Number.MAX_SAFE_INTEGER],
      usual,
    },
  ]),
) as unknown as Record<keyof GatewayLimits, Setting>;

function duration(flag: string, usual: number, least: number, says: string): Setting {
  return { kind: "number", flag, takes: "MS", bounds: [least, MOST_MS], usual, says };
}

/** Every option of a gateway, for `createGateway`, a file, the environment and the command line alike. */
export const SETTINGS: Readonly<Record<SettingName, Setting>> = {
  host: {
    kind: "text",
    flag: "host",
    takes: "ADDRESS",
    usual: "127.0.0.1",
    says: "where to listen; 127.0.0.1 is for this machine only",
  },
  port: {
    kind: "number",
    flag: "port",
    takes: "NUMBER",
    bounds: [0, 65_535],
    usual: 8080,
    says: "port to listen at; 0 takes a free one",
  },
  sharePort: {
    kind: "switch",
    flag: "share-port",
    usual: false,
    says: "let other processes of the same user listen at this port, too: the system (Linux) spreads connections over them",
  },
  workers: {
    kind: "number",
    flag: "workers",
    takes: "NUMBER",
    bounds: [1, 64],
    usual: 1,
    says: "processes behind the one port that share channels, for as many cores; jecho reload exchanges them one by one",
  },
  path: {
    kind: "text",
    flag: "path",
    takes: "PATH",
    usual: "",
    says: "what a proxy in front passes on as it is: /jecho",
  },
  server: {
    kind: "text",
    flag: "server",
    takes: "NAME",
    choices: WEB_SERVERS,
    says: "what serves HTTP and WebSockets: uWebSockets.js, or ws, which runs everywhere and takes twice the processor time for small messages to many; by default the first where it has a binary",
  },
  staticFolder: {
    kind: "path",
    flag: "static",
    takes: "FOLDER",
    says: "serve this folder's files over HTTP",
  },
  contentPolicy: {
    kind: "text",
    flag: "content-policy",
    takes: "TEXT",
    says: "the Content-Security-Policy of these files; by default they may use nothing but the gateway and themselves",
  },
  historyFile: {
    kind: "path",
    flag: "history",
    takes: "FILE",
    says: "keep in this file what producers ask to be kept of their channels: it then survives a restart",
  },
  origins: {
    kind: "list",
    flag: "origin",
    takes: "ORIGIN",
    says: "an origin that pages may connect from, as http://localhost:5173",
  },
  hosts: {
    kind: "list",
    flag: "allow-host",
    takes: "NAME",
    says: "a name that the gateway's own pages may have besides localhost, as viewer.example",
  },
  "tls.certFile": {
    kind: "path",
    flag: "tls-cert",
    takes: "FILE",
    says: "a certificate, and behind it those that lead to one that clients trust (PEM, read again when it changes): the gateway is then reached by https and wss alone",
  },
  "tls.keyFile": { kind: "path", flag: "tls-key", takes: "FILE", says: "its private key, likewise" },
  checksums: {
    kind: "switch",
    flag: "checksums",
    usual: false,
    says: "put a checksum behind each message, and check those of clients: for ways where bits flip and there is no TLS",
  },
  "tokens.keys": {
    kind: "keys",
    flag: "keys",
    takes: "KEYS",
    says: "take those alone who bring a token, and check that with these keys: a file with a JSON Web Key Set, as jecho key writes it, or the https address of one",
  },
  "tokens.issuer": {
    kind: "text",
    flag: "issuer",
    takes: "NAME",
    says: "who has to have made the tokens (iss)",
  },
  "tokens.audience": {
    kind: "text",
    flag: "audience",
    takes: "NAME",
    says: "for whom the tokens have to be made (aud)",
  },
  "tokens.clockSkewMs": {
    kind: "number",
    flag: "clock-skew",
    takes: "MS",
    bounds: [0, 300_000],
    says: "by how much the clock of who makes the tokens may differ (3000)",
  },
  owners: {
    kind: "pairs",
    flag: "owner",
    takes: "PATTERN=SUBJECT",
    says: "whose channels of these names are, as weather/**=sim: others publish there only with the right own",
  },
  open: {
    kind: "switch",
    flag: "open",
    usual: false,
    says: "listen also elsewhere than on this machine without --keys, for whoever comes",
  },
  auditFile: {
    kind: "path",
    flag: "audit",
    takes: "FILE",
    says: "add a line of JSON to this file for each connection, refusal, and installation of a modulator",
  },
  "cluster.members": {
    kind: "list",
    flag: "cluster",
    takes: "HOST:PORT",
    says: "where one of the gateways that share channels is reached by the others: one for each, in the same order at all of them, and nobody else is to reach these ports",
  },
  "cluster.self": {
    kind: "text",
    flag: "cluster-self",
    takes: "HOST:PORT",
    says: "the one of them that this gateway is",
  },
  "cluster.secretFile": {
    kind: "path",
    flag: "cluster-secret",
    takes: "FILE",
    says: "a file with at least 16 characters that all of them know, and nobody else",
  },
  "cluster.nats.servers": {
    kind: "list",
    flag: "cluster-nats",
    takes: "HOST:PORT",
    says: "address of a NATS server, with tls:// before it where that wants TLS: all gateways that use it share channels",
  },
  "cluster.nats.prefix": {
    kind: "text",
    flag: "cluster-nats-prefix",
    takes: "NAME",
    says: "first part of the names of what they have there: another one for another cluster (jecho)",
  },
  "cluster.nats.credentialsFile": {
    kind: "path",
    flag: "cluster-nats-credentials",
    takes: "FILE",
    says: "what NATS wants to know of who connects: a .creds file, the seed of an nkey, or USER:PASSWORD",
  },
  "cluster.nats.caFile": {
    kind: "path",
    flag: "cluster-nats-ca",
    takes: "FILE",
    says: "the certificates (PEM) that those of the NATS servers lead to; the usual ones by default",
  },
  "cluster.nats.certFile": {
    kind: "path",
    flag: "cluster-nats-cert",
    takes: "FILE",
    says: "a certificate for NATS servers that want one of who connects",
  },
  "cluster.nats.keyFile": {
    kind: "path",
    flag: "cluster-nats-key",
    takes: "FILE",
    says: "its private key",
  },
  "cluster.nats.replicas": {
    kind: "number",
    flag: "cluster-nats-replicas",
    takes: "NUMBER",
    bounds: [1, 5],
    says: "how many NATS servers keep the list of members, 1, 3 or 5 (1)",
  },
  modulators: {
    kind: "switch",
    flag: "modulators",
    usual: false,
    says: "run modulators in a process beside the gateway for producers that run none",
  },
  logLevel: {
    kind: "text",
    flag: "log-level",
    takes: "LEVEL",
    choices: LOG_LEVELS,
    usual: "info",
    says: "the least that the log on the error output says: debug, info (what was refused), warn or error",
  },
  logFormat: {
    kind: "text",
    flag: "log-format",
    takes: "FORMAT",
    choices: ["text", "json"],
    usual: "text",
    says: "lines for people (text), or of JSON, as pino writes them (json)",
  },
  "operations.port": {
    kind: "number",
    flag: "operations-port",
    takes: "NUMBER",
    bounds: [0, 65_535],
    says: "answer /healthz, /readyz and /metrics there",
  },
  "operations.host": {
    kind: "text",
    flag: "operations-host",
    takes: "ADDRESS",
    says: "where that port is; 127.0.0.1, the usual, is for this machine only",
  },
  drainMs: duration(
    "drain",
    5000,
    0,
    "when the gateway is told to end, how long that process may take to finish what it was given, and consumers to take what waits for them",
  ),
  resumeWindowMs: duration(
    "resume-window",
    30_000,
    0,
    "how long producers go on sending for a consumer that was cut off",
  ),
  handoverMs: duration("handover", 120_000, 0, "how long a handover token is good"),
  heartbeatMs: duration("heartbeat", 10_000, 1, "silence after which a connection is tested"),
  messageTimeoutMs: duration(
    "message-timeout",
    120_000,
    1,
    "how long a client may go without a whole message",
  ),
  requestTimeoutMs: duration(
    "request-timeout",
    10_000,
    1,
    "how long a process may take to answer, and a client to say Hello",
  ),
  installTimeoutMs: duration(
    "install-timeout",
    2000,
    1,
    "how long a producer is waited for that does not answer to the installation of a modulator which others run",
  ),
  ...limits,
};

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Settings that are given as `--limit NAME=NUMBER`. */
export const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS) as (keyof GatewayLimits)[];

/**
 * Checks one value, wherever it comes from.
 *
 * @throws JechoError `ARGUMENT_INVALID` naming the setting
 */
export function checkSetting(name: SettingName, value: unknown): void {
  const { kind, bounds = [0, 0], choices } = SETTINGS[name];
  const [least, most] = bounds;
  const problem = ((): string | undefined => {
    switch (kind) {
      case "number":
        return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
          ? undefined
          : `is ${shown(value)}; a whole number from ${least} to ${most} is wanted`;
      case "switch":
        return typeof value === "boolean" ? undefined : `is ${shown(value)}; true or false is wanted`;
      case "list":
        return Array.isArray(value)
          ? undefined
          : `are a list, not ${typeof value === "string" ? "a string" : typeof value}`;
      case "pairs":
        return isObject(value) ? undefined : `is ${shown(value)}; an object is wanted`;
      case "keys":
        return typeof value === "string" || isObject(value)
          ? undefined
          : "is neither a path or an address nor keys";
      default:
        if (typeof value !== "string") return `is ${shown(value)}; a text is wanted`;
        return choices?.includes(value) === false
          ? `is "${value}"; one of ${choices.join(", ")} is wanted`
          : undefined;
    }
  })();
  if (problem !== undefined) throw new JechoError("ARGUMENT_INVALID", `${name} ${problem}`);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return typeof value === "object" && value !== null ? "an object" : String(value).slice(0, 100);
}

/** A setting's value in options as `createGateway` takes them; undefined where it is not said. */
export function settingOf(options: object, name: SettingName): unknown {
  let value: unknown = options;
  for (const part of name.split(".")) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

/** Puts a setting's value where `settingOf` finds it. */
export function putSetting(options: object, name: SettingName, value: unknown): void {
  let inner = options as Record<string, unknown>;
  const path = name.split(".");
  for (const part of path.slice(0, -1)) {
    inner[part] ??= {};
    inner = inner[part] as Record<string, unknown>;
  }
  inner[path.at(-1) as string] = value;
}

/** The names of settings as `checkOptions` takes them. */
export function namesOf(names: readonly SettingName[]): Record<string, unknown> {
  const known = {};
  for (const name of names) putSetting(known, name, true);
  return known;
}
