import type { GatewayOptions } from "../gateway/gateway-options.ts";
import type { LogLevel } from "../operations/gateway-log.ts";
import { type FoundSettings, readCommandLine } from "./command-line.ts";
import { readConfigFile } from "./config-file.ts";
import { readEnvironment } from "./environment.ts";
import { putSetting, SETTING_NAMES, SETTINGS, type SettingName } from "./settings.ts";
import { Misuse } from "./texts.ts";

/** All settings of a gateway's command, from its command line, the environment and a file: the first that has one counts. */
export interface Configuration {
  readonly settings: FoundSettings;
  readonly help: boolean;
  readonly json: boolean;
}

/**
 * Reads all settings, each from the first of these that has it: command line, environment, file, and what is usual.
 *
 * @param args behind the command's name
 * @throws Misuse
 */
export async function readConfiguration(
  args: readonly string[],
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd: () => string },
): Promise<Configuration> {
  const line = readCommandLine(args);
  const { help, json } = line;
  if (help) return { settings: new Map(), help, json };
  const environment = readEnvironment(env);
  const file = await readConfigFile(line.config, cwd());
  const settings = new Map<SettingName, { value: unknown; from: string }>();
  for (const name of SETTING_NAMES) {
    const { usual } = SETTINGS[name];
    const given = line.found.get(name) ?? environment.get(name) ?? file.found.get(name);
    if (given !== undefined) settings.set(name, given);
    else if (usual !== undefined) settings.set(name, { value: usual, from: "" });
  }
  checkTogether(settings);
  return { settings, help, json };
}

function checkTogether(settings: FoundSettings): void {
  const has = (name: SettingName) => settings.has(name);
  if (has("tls.keyFile") !== has("tls.certFile"))
    throw new Misuse("--tls-cert and --tls-key are wanted together");
  const ofCluster = (["cluster.members", "cluster.self", "cluster.secretFile"] as const).filter(has);
  if (ofCluster.length % 3 !== 0)
    throw new Misuse("--cluster, --cluster-self and --cluster-secret are wanted together");
  const ofNats = SETTING_NAMES.filter(name => name.startsWith("cluster.nats.") && has(name));
  if (ofNats.length > 0 && (!has("cluster.nats.servers") || ofCluster.length > 0))
    throw new Misuse(
      "gateways that find one another by NATS want the address of a server, --cluster-nats, and no --cluster",
    );
  const workers = settings.get("workers")?.value as number;
  if (workers > 1 && ofCluster.length > 0)
    throw new Misuse(
      "--workers cannot go with --cluster (by NATS it can), whose address is one process's own",
    );
  if (has("operations.host") && !has("operations.port"))
    throw new Misuse("--operations-host is wanted with --operations-port alone");
  if (!has("tokens.keys") && (has("tokens.issuer") || has("tokens.audience") || has("tokens.clockSkewMs")))
    throw new Misuse(
      "--issuer, --audience and --clock-skew are about tokens, which are wanted with --keys alone",
    );
}

/** Settings that the command alone has. */
interface CommandOptions {
  readonly workers?: number;
  readonly modulators?: boolean;
  readonly logLevel?: LogLevel;
  readonly logFormat?: "text" | "json";
}

/** The settings as options of `createGateway`, besides the command's own. */
export function optionsOf(settings: FoundSettings): GatewayOptions & CommandOptions {
  const options: Record<string, unknown> = {};
  for (const [name, { value }] of settings) putSetting(options, name, value);
  return options as GatewayOptions & CommandOptions;
}

/** The settings for people to read: a line each, with where it comes from. Keys are not shown. */
export function describeSettings(settings: FoundSettings): string {
  const rows = Array.from(settings, ([name, { value, from }]) => [
    name,
    JSON.stringify(shownValue(name, value)),
    from,
  ]);
  const widths = [0, 1].map(i => Math.max(...rows.map(row => (row[i] as string).length)));
  return rows
    .map(row =>
      row
        .map((cell, i) => cell?.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The same as JSON that a configuration file may have, but for keys that it had itself. */
export function settingsJson(settings: FoundSettings): string {
  const shown = new Map(
    [...settings].map(([name, { value, from }]) => [name, { value: shownValue(name, value), from }]),
  );
  return JSON.stringify(optionsOf(shown), undefined, 2);
}

/** Keys may be secret, and so may be a password in an address. */
function shownValue(name: SettingName, value: unknown): unknown {
  if (SETTINGS[name].kind !== "keys") return value;
  if (typeof value === "object") return "(keys)";
  if (typeof value !== "string" || !URL.canParse(value)) return value;
  const address = new URL(value);
  if (address.username === "" && address.password === "") return value;
  address.username = "";
  address.password = "";
  return address.href;
}
