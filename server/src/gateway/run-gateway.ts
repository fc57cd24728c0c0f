import { parseArgs } from "node:util";
import { JechoError } from "@jecho/shared";
import { createGateway } from "./gateway.ts";
import { DEFAULT_LIMITS, type GatewayLimits } from "./gateway-limits.ts";
import { BOUNDS, type GatewayOptions, isOwnMachine } from "./gateway-options.ts";

const NAMES = Object.keys(DEFAULT_LIMITS)
  .join(", ")
  .replace(/(.{70,90},) /g, `$1\n${" ".repeat(20)}`);

const USAGE = `jecho gateway [options]

  --host ADDRESS    where to listen (127.0.0.1: this machine only)
  --port NUMBER     port to listen at (8080; 0 takes a free one)
  --path PATH       what a proxy in front passes on as it is: /jecho
  --static FOLDER   serve this folder's files over HTTP
  --history FILE    keep in this file what producers ask to be kept of their channels: it then survives a restart
  --origin ORIGIN   an origin that pages may connect from, as http://localhost:5173; may be repeated
  --allow-host NAME a name that the gateway's own pages may have besides localhost, as viewer.example; may be repeated
  --tls-cert FILE   a certificate, and behind it those that lead to one that clients trust: the gateway is then reached by
  --tls-key FILE    https and wss alone. This is its private key. Both are PEM, and read again when they change
  --checksums       put a checksum behind each message, and check those of clients: for ways where bits flip and there is no TLS
  --keys KEYS       take those alone who bring a token, and check that with these keys: a file with a JSON Web Key Set, as jecho key
                    writes it, or the https address of one
  --issuer NAME     who has to have made the tokens (iss)
  --audience NAME   for whom the tokens have to be made (aud)
  --owner PATTERN=SUBJECT
                    whose channels of these names are, as weather/**=sim: others publish there only with the right own; may be repeated
  --open            listen also elsewhere than on this machine without --keys, for whoever comes
  --audit FILE      add a line of JSON to this file for each connection, refusal, and installation of a modulator
  --modulators      run modulators in a process beside the gateway for producers that run none
  --drain MS        when the gateway is told to end, how long that process may take to finish what it was given, and
                    consumers to take what waits for them (5000)
  --limit NAME=NUMBER
                    another limit than the usual, as connections=500; may be repeated. There are
                    ${NAMES}`;

const PARENT_MS = 500;

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
  try {
    const values = readOptions(process.argv.slice(2));
    if (values.help) {
      process.stdout.write(`${USAGE}\n`);
      return;
    }
    if (values.modulators && modulating === undefined)
      throw new Misuse("--modulators is an option of the command jecho, which has what runs them");
    silenceSqlite(process);
    const gateway = await createGateway({
      host: values.host,
      port: readWhole("--port", values.port, BOUNDS.port),
      ...Object.fromEntries(values.limit.map(readLimit)),
      path: values.path,
      drainMs: readWhole("--drain", values.drain, BOUNDS.drainMs),
      log: line => console.error(line),
      ...(values.static === undefined ? {} : { staticFolder: values.static }),
      ...(values.history === undefined ? {} : { historyFile: values.history }),
      ...(values.origin === undefined ? {} : { origins: values.origin }),
      ...(values["allow-host"] === undefined ? {} : { hosts: values["allow-host"] }),
      open: values.open,
      checksums: values.checksums,
      ...tlsOf(values),
      ...tokensOf(values),
      ...(values.owner === undefined ? {} : { owners: Object.fromEntries(values.owner.map(readOwner)) }),
      ...(values.audit === undefined ? {} : { auditFile: values.audit }),
      ...(values.modulators && modulating !== undefined ? { modulating } : {}),
    });
    process.stdout.write(
      `gateway listening at ${values["tls-key"] === undefined ? gateway.address : gateway.url}\n`,
    );
    // A parent that started this process with an IPC channel is told the same way, and what the gateway has whenever it asks.
    const tell = (message: object): void => void process.send?.(message, undefined, undefined, () => {});
    tell({ address: gateway.address });
    process.on("message", () => tell(gateway.stats()));
    if (!isOwnMachine(values.host)) {
      if (values.keys === undefined)
        console.error(
          "warning: without --keys whoever reaches this address may publish, subscribe and install modulators",
        );
      else if (values["tls-cert"] === undefined)
        console.error(
          "warning: without --tls-cert whoever listens on the way here can read tokens, and use them",
        );
    }
    await untilTold(process);
    await gateway.close();
    // An open channel to the parent would keep the process up.
    if (process.connected) process.disconnect();
  } catch (error) {
    const isMisuse =
      error instanceof Misuse || (error instanceof JechoError && error.code === "ARGUMENT_INVALID");
    const code = error instanceof JechoError && !isMisuse ? `${error.code}: ` : "";
    console.error(`jecho: ${code}${(error as Error).message}${isMisuse ? `\n\n${USAGE}` : ""}`);
    process.exitCode = isMisuse ? 2 : 1;
  }
}

/** @throws Misuse */
function tlsOf({
  "tls-key": keyFile,
  "tls-cert": certFile,
}: ReturnType<typeof readOptions>): Pick<GatewayOptions, "tls"> {
  if (keyFile === undefined && certFile === undefined) return {};
  if (keyFile === undefined || certFile === undefined)
    throw new Misuse("--tls-cert and --tls-key are wanted together");
  return { tls: { keyFile, certFile } };
}

/** @throws Misuse */
function tokensOf({
  keys,
  issuer,
  audience,
}: ReturnType<typeof readOptions>): Pick<GatewayOptions, "tokens"> {
  if (keys === undefined) {
    if (issuer !== undefined || audience !== undefined)
      throw new Misuse("--issuer and --audience are about tokens, which are wanted with --keys alone");
    return {};
  }
  return {
    tokens: { keys, ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) },
  };
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
      }, PARENT_MS);
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

/** The command line is wrong. */
class Misuse extends Error {}

/** @throws Misuse */
function readOptions(args: string[]) {
  const { values, positionals } = parse();
  if (!values.help && (positionals.length !== 1 || positionals[0] !== "gateway"))
    throw new Misuse(`it takes the word gateway and options, not "${positionals.join(" ")}"`);
  return values;

  function parse() {
    try {
      return parseArgs({
        args,
        allowPositionals: true,
        options: {
          host: { type: "string", default: "127.0.0.1" },
          port: { type: "string", default: "8080" },
          path: { type: "string", default: "" },
          static: { type: "string" },
          history: { type: "string" },
          origin: { type: "string", multiple: true },
          "allow-host": { type: "string", multiple: true },
          "tls-cert": { type: "string" },
          "tls-key": { type: "string" },
          keys: { type: "string" },
          audit: { type: "string" },
          open: { type: "boolean", default: false },
          checksums: { type: "boolean", default: false },
          owner: { type: "string", multiple: true },
          issuer: { type: "string" },
          audience: { type: "string" },
          modulators: { type: "boolean", default: false },
          drain: { type: "string", default: "5000" },
          limit: { type: "string", multiple: true, default: [] },
          help: { type: "boolean", short: "h", default: false },
        },
      });
    } catch (error) {
      throw new Misuse((error as Error).message);
    }
  }
}

/** @throws Misuse */
function readOwner(text: string): [pattern: string, subject: string] {
  const [, pattern = "", subject = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (pattern === "")
    throw new Misuse(`--owner takes a pattern and a subject, as weather/**=sim, not "${text}"`);
  return [pattern, subject];
}

/** @throws Misuse */
function readLimit(text: string): [name: string, value: number] {
  const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(text) ?? [];
  if (!Object.hasOwn(DEFAULT_LIMITS, name))
    throw new Misuse(`--limit takes the name of a limit and its number, as connections=500, not "${text}"`);
  return [name, readWhole(`--limit ${name}`, value, BOUNDS[name as keyof GatewayLimits])];
}

/** @throws Misuse */
function readWhole(option: string, text: string, [least, most]: readonly [number, number]): number {
  if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > most)
    throw new Misuse(`${option} takes a whole number from ${least} to ${most}, not "${text}"`);
  return Number(text);
}
