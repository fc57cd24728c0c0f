import { parseArgs } from "node:util";
import { createGateway, type GatewayOptions } from "./gateway.ts";

const USAGE = `jecho gateway [options]

  --host ADDRESS    where to listen (127.0.0.1: this machine only)
  --port NUMBER     port to listen at (8080; 0 takes a free one)
  --static FOLDER   a folder whose files are served over HTTP
  --history FILE    keeps what channels ask to be kept in this file, so that it survives a restart
  --origin ORIGIN   an origin that pages may connect from; may be repeated
  --modulators      runs modulators in a process beside the gateway for producers that run none
  --drain MS        how long that may take to finish what it was given when the gateway is told to end (5000)`;

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

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
    const { values, positionals } = parseArgs({
      args: process.argv.slice(2),
      allowPositionals: true,
      options: {
        host: { type: "string", default: "127.0.0.1" },
        port: { type: "string", default: "8080" },
        static: { type: "string" },
        history: { type: "string" },
        origin: { type: "string", multiple: true },
        modulators: { type: "boolean", default: false },
        drain: { type: "string", default: "5000" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help || positionals.length !== 1 || positionals[0] !== "gateway") {
      process.stdout.write(`${USAGE}\n`);
      process.exit(values.help ? 0 : 2);
    }
    if (values.modulators && modulating === undefined)
      throw new Error("--modulators is an option of the command jecho, which has what runs them");
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 0 || port > 65535)
      throw new Error(`--port takes a number from 0 to 65535, not "${values.port}"`);
    const drainMs = Number(values.drain);
    if (!(drainMs >= 0)) throw new Error(`--drain takes milliseconds, not "${values.drain}"`);
    const gateway = await createGateway({
      host: values.host,
      port,
      drainMs,
      log: line => console.error(line),
      ...(values.static === undefined ? {} : { staticFolder: values.static }),
      ...(values.history === undefined ? {} : { historyFile: values.history }),
      ...(values.origin === undefined ? {} : { origins: values.origin }),
      ...(values.modulators && modulating !== undefined ? { modulating } : {}),
    });
    process.stdout.write(`gateway listening at ${gateway.address}\n`);
    // A parent that started this process with an IPC channel is told the same way.
    process.send?.({ address: gateway.address });
    if (!LOOPBACK.has(values.host)) {
      console.error(
        "warning: this gateway knows no users yet; whoever reaches this address may publish, subscribe and install modulators",
      );
    }
    await new Promise<void>(resolve => {
      process.once("SIGINT", resolve);
      process.once("SIGTERM", resolve);
      process.once("disconnect", resolve);
    });
    await gateway.close();
    // An open channel to the parent would keep the process up.
    if (process.connected) process.disconnect();
  } catch (error) {
    console.error(`jecho: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
