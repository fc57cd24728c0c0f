import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findMosquitto, findNats, MissingPeer, type Program } from "./installed.ts";
import { CommandProcess, freePort, type Process } from "./processes.ts";
import type { Report } from "./report.ts";

const START_TIMEOUT_MS = 5000;

/** A broker that is no npm package, running. */
export interface Broker {
  readonly name: "nats" | "mosquitto";
  readonly process: Process;
  /** Port of its WebSocket, and that of its own protocol over TCP. */
  readonly port: number;
  readonly tcpPort: number;
}

/** Starts the brokers that can be had on this machine; about the others there is a note. */
export async function startBrokers(report: Report, processes: Process[]): Promise<Broker[]> {
  const brokers: Broker[] = [];
  for (const start of [startNats, startMosquitto]) {
    try {
      const broker = await start();
      processes.push(broker.process);
      brokers.push(broker);
    } catch (error) {
      if (!(error instanceof MissingPeer)) throw error;
      report.note(`without a peer: ${error.message}`);
    }
  }
  return brokers;
}

/** @throws MissingPeer */
export async function startNats(): Promise<Broker> {
  const program = await findNats();
  const [tcpPort, port] = [await freePort(), await freePort()];
  const config = [
    `listen: "127.0.0.1:${tcpPort}"`,
    `websocket { listen: "127.0.0.1:${port}", no_tls: true }`,
    "max_payload: 16MB",
    "max_pending: 256MB",
    'ping_interval: "30m"',
  ];
  return startBroker("nats", program, port, tcpPort, config);
}

async function startMosquitto(): Promise<Broker> {
  const program = await findMosquitto();
  const [tcpPort, port] = [await freePort(), await freePort()];
  const config = [
    // Started as root, it would want an account of its own.
    `user ${userInfo().username}`,
    `listener ${tcpPort} 127.0.0.1`,
    `listener ${port} 127.0.0.1`,
    "protocol websockets",
    "allow_anonymous true",
    "max_queued_messages 0",
    "set_tcp_nodelay true",
    "log_type error",
  ];
  return startBroker("mosquitto", program, port, tcpPort, config);
}

async function startBroker(
  name: Broker["name"],
  program: Program,
  port: number,
  tcpPort: number,
  config: readonly string[],
): Promise<Broker> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-bench-"));
  try {
    const file = join(folder, `${name}.conf`);
    await writeFile(file, `${config.join("\n")}\n`);
    const process = await CommandProcess.start({ ...program, args: ["-c", file] });
    const until = performance.now() + START_TIMEOUT_MS;
    while (!((await answers(port)) && (await answers(tcpPort)))) {
      if (process.ended || performance.now() > until) {
        await process.stop();
        throw new MissingPeer(`${name} did not start`);
      }
      await delay(50);
    }
    return { name, process, port, tcpPort };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
