import { existsSync } from "node:fs";
import { JechoError } from "@jecho/shared";
import { describeFlags } from "../configuration/command-line.ts";
import {
  type Configuration,
  describeSettings,
  optionsOf,
  readConfiguration,
  settingsJson,
} from "../configuration/configuration.ts";
import { Misuse } from "../configuration/texts.ts";
import { type GatewayLog, type LogLevel, lineLog } from "../operations/gateway-log.ts";
import { createGateway } from "./gateway.ts";
import { checkGatewayOptions, type GatewayOptions, isOwnMachine } from "./gateway-options.ts";
import { Workers, type WorkersOptions } from "./workers.ts";

const SOURCES = `Each of them may also stand in a file, by the name that it has in createGateway, or in the environment: drainMs as JECHO_OPTION_DRAIN_MS.
What is said here counts more than the environment, and that more than the file. --no-NAME switches off what they switch on.`;

const USAGE = `jecho gateway [options]

${describeFlags()}

${SOURCES}`;

const CONFIG_USAGE = `jecho config [options]

  --json                as JSON, such as a file may have

Prints the settings that jecho gateway would have with these options, and where each comes from. The options are the same:
see jecho gateway --help.`;

const PARENT_MS = 500;
const NO_RELOAD =
  "SIGHUP changes nothing: certificate and keys are read again by themselves, other settings at the next start";

/**
 * The command `jecho gateway`: runs a gateway until the process is told to end.
 *
 * @param process whose arguments, streams and signals it takes
 * @param modulating what `--modulators` starts
 */
export async function runGateway(
  process: NodeJS.Process,
  { modulating }: Pick<GatewayOptions, "modulating"> = {},
): Promise<void> {
  await asCommand(process, "gateway", async ({ settings, help }) => {
    if (help) return void process.stdout.write(`${USAGE}\n`);
    const { workers = 1, modulators = false, logLevel = "info", logFormat, ...options } = optionsOf(settings);
    const log =
      logFormat === "json" ? await jsonLog(logLevel) : lineLog(line => console.error(line), logLevel);
    if (modulators && modulating === undefined)
      throw new Misuse("--modulators is an option of the command jecho, which has what runs them");
    const failed = (error: unknown): undefined => {
      if (logFormat !== "json") throw error;
      const { code, message } = JechoError.from(error);
      log.error({ code }, message);
      process.exitCode = code === "ARGUMENT_INVALID" ? 2 : 1;
    };
    const { historyFile } = options;
    if (historyFile !== undefined && existsSync(workers > 1 ? historyFile : `${historyFile}-1`))
      throw new Misuse(
        `the history ${historyFile} was begun ${workers > 1 ? "without" : "with"} --workers: start the gateway as before, or give it another file`,
      );
    silenceSqlite(process);
    if (workers > 1) {
      const say = (line: string): void => {
        if (logFormat === "json") log.info({}, line);
        else process.stdout.write(`${line}\n`);
      };
      return runWorkers(process, workers, options, { log, say }).catch(failed);
    }
    process.on("SIGHUP", () => log.warn({}, NO_RELOAD));
    const gateway = await createGateway({
      ...options,
      log,
      ...(modulators && modulating !== undefined ? { modulating } : {}),
    }).catch(failed);
    if (gateway === undefined) return;
    const address = options.tls === undefined ? gateway.address : gateway.url;
    // Where a program reads the lines, all of them are JSON.
    if (logFormat === "json") log.info({ address, server: gateway.server }, "listening");
    else process.stdout.write(`gateway listening at ${address}\nserved by ${gateway.server}\n`);
    tell(process, { address: gateway.address });
    process.on("message", () => tell(process, gateway.stats()));
    if (!isOwnMachine(gateway.host)) {
      if (options.tokens === undefined)
        log.warn(
          {},
          "warning: without --keys whoever reaches this address may publish, subscribe and install modulators",
        );
      else if (options.tls === undefined)
        log.warn(
          {},
          "warning: without --tls-cert whoever listens on the way here can read tokens, and use them",
        );
    }
    await Promise.race([untilTold(process), gateway.closed]);
    await gateway.close();
    if ((await gateway.closed) !== undefined) process.exitCode = 1;
    // An open channel to the parent would keep the process up.
    if (process.connected) process.disconnect();
  });
}

/** Runs so many processes with the same settings until this one is told to end; SIGHUP exchanges them one by one. */
async function runWorkers(
  process: NodeJS.Process,
  count: number,
  options: GatewayOptions,
  { log, say }: Pick<WorkersOptions, "log" | "say">,
): Promise<void> {
  checkGatewayOptions(options);
  const { host = "127.0.0.1", port = 0, drainMs = 5000, operations, cluster, historyFile } = options;
  const [, program = "", ...words] = process.argv;
  const operationsPort = operations?.port;
  const isByNats = cluster !== undefined;
  const workers = await Workers.start({
    ...{ count, host, port, drainMs, operationsPort, historyFile, isByNats, program, words, log, say },
  });
  say(`gateway listening at ${workers.address}`);
  say(`served by ${count} workers of process ${process.pid}, which jecho reload ${process.pid} exchanges`);
  tell(process, { address: workers.address });
  process.on("SIGHUP", () => void workers.reload());
  await untilTold(process);
  await workers.stop();
  if (process.connected) process.disconnect();
}

/** Tells a parent that started this process with an IPC channel. */
function tell(process: NodeJS.Process, message: object): void {
  process.send?.(message, undefined, undefined, () => {});
}

/**
 * The command `jecho config`: prints the settings that `jecho gateway` would have with the same options, and where each comes from.
 *
 * @param process whose arguments, environment, folder and streams it takes
 */
export async function printConfiguration(process: NodeJS.Process): Promise<void> {
  await asCommand(process, "config", async ({ settings, help, json }) => {
    const shown = help ? CONFIG_USAGE : json ? settingsJson(settings) : describeSettings(settings);
    process.stdout.write(`${shown}\n`);
  });
}

/** Reads the settings and acts; what goes wrong is said on the error output, and by the exit status. */
async function asCommand(
  process: NodeJS.Process,
  name: string,
  act: (configuration: Configuration) => Promise<void>,
): Promise<void> {
  try {
    const [first, ...args] = process.argv.slice(2);
    if (first !== name) throw new Misuse(`it takes the word ${name} and options`);
    await act(await readConfiguration(args, process));
  } catch (error) {
    const isMisuse =
      error instanceof Misuse || (error instanceof JechoError && error.code === "ARGUMENT_INVALID");
    const code = error instanceof JechoError && !isMisuse ? `${error.code}: ` : "";
    // All options fill more than a screen, and what is wrong would stand above it.
    const help = isMisuse ? `\n(jecho ${name} --help lists the options)` : "";
    console.error(`jecho: ${code}${(error as Error).message}${help}`);
    process.exitCode = isMisuse ? 2 : 1;
  }
}

/** Lines of JSON on the error output, written at once: what a process that dies has said is not lost. */
async function jsonLog(level: LogLevel): Promise<GatewayLog> {
  const { destination, pino, stdTimeFunctions } = await import("pino");
  const named = { level: (label: string) => ({ level: label }) };
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: named };
  const logger = pino(options, destination({ dest: 2, sync: true }));
  const at = (name: LogLevel) => (fields: object, message: string) => logger[name](fields, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A signal, the end of who started the process with an IPC channel, or the end of npm. */
async function untilTold(process: NodeJS.Process): Promise<void> {
  let look: NodeJS.Timeout | undefined;
  await new Promise<void>(resolve => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
    process.once("disconnect", resolve);
    // npm passes a signal on to the shell between it and this process, and to nobody else.
    const { ppid } = process;
    if (process.env.npm_command !== undefined)
      look = setInterval(() => {
        if (process.ppid !== ppid) resolve();
      }, PARENT_MS).unref();
  });
  clearInterval(look);
}

/** Node says at each start that its SQLite is experimental: an operator can do nothing about it. */
function silenceSqlite(process: NodeJS.Process): void {
  const emit = process.emitWarning as (...warning: unknown[]) => void;
  process.emitWarning = (...warning: unknown[]) => {
    if (!String(warning[0]).startsWith("SQLite is an experimental feature")) emit.apply(process, warning);
  };
}
