import { setTimeout as delay } from "node:timers/promises";
import type { Kind } from "../dialects.ts";
import { mostConnections } from "../file-limit.ts";
import { COLLECTS, cpuMsOfAll, freePort, GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { OpenIdlers } from "../workers/idlers.ts";
import type { OpenSessions } from "../workers/sessions.ts";

const CONNECTIONS = 10_000;
const QUICK_CONNECTIONS = 5000;
const PARTS = 2;
/**
 * The share of the connections that comes first, so that what a server sets up once is no part of what a connection costs; and the
 * share after which memory is first looked at: what the server's start has left free (megabytes, more or fewer each time) is used
 * up by then. Before that connections seem to cost next to nothing.
 */
const [FIRST, BEFORE_LOOK] = [1 / 2, 3 / 4];
const SETTLE_MS = 250;
/** Sessions of the library, and the processes that they are in. */
const [SESSIONS, SESSION_PARTS] = [10_000, 4];
const SESSIONS_BACK = "connections.back_10000_s";
const MOST_BACK = atMost(30);
const SERVERS: readonly Kind[] = ["jecho", "uws", "ws", "socketio"];

/** Costs of one server, a value for each round. */
interface Costs {
  /** Memory that a connection holds. */
  readonly bytes: number[];
  /** The same with what was to be collected. */
  readonly resident: number[];
  readonly accept: number[];
  readonly cpu: number[];
  /** CPU of the load generator for each connection. */
  readonly generator: number[];
  readonly back: number[];
}

export const connections: Suite = {
  name: "connections",
  about: "10,000 idle WebSocket connections with a subscription each: memory, accepting, coming back",
  async run({ report, quick }: Context) {
    const count = Math.min(quick ? QUICK_CONNECTIONS : CONNECTIONS, mostConnections());
    const rounds = quick ? 1 : 2;
    const costs = new Map<Kind, Costs>(
      SERVERS.map(kind => [kind, { bytes: [], resident: [], accept: [], cpu: [], generator: [], back: [] }]),
    );
    for (let round = 0; round < rounds; round++)
      for (const [kind, its] of costs) await measure(kind, count, its);
    for (const [kind, { bytes, resident, accept, cpu, generator, back }] of costs) {
      report.metric(`connections.memory_${kind}`, bytes, "B/connection");
      report.metric(`connections.resident_${kind}`, resident, "B/connection");
      report.metric(`connections.accept_${kind}`, accept, "connections/s");
      report.metric(`connections.accept_cpu_${kind}`, cpu, "us/connection");
      report.metric(`connections.back_${kind}`, back, "s");
      const generatorUs = summarise(generator).median.toFixed(0);
      report.note(`connections.accept_${kind}: CPU of the load generator ${generatorUs} us/connection`);
    }
    const few = count < CONNECTIONS && !quick ? "; a process may have no more files open (ulimit -Hn)" : "";
    report.note(`${count} connections${few}`);
    const of = (kind: Kind): number[] => costs.get(kind)?.bytes ?? [];
    report.metric("connections.memory_vs_uws_bare", ratios(of("jecho"), of("uws")), "x", atMost(2));
    report.metric("connections.memory_vs_ws", ratios(of("jecho"), of("ws")), "x");
    report.metric("connections.memory_vs_socketio", ratios(of("jecho"), of("socketio")), "x");

    if (quick) report.missing(SESSIONS_BACK, MOST_BACK, "a short run has no 10,000 sessions");
    else if (mostConnections() < SESSIONS)
      report.missing(SESSIONS_BACK, MOST_BACK, "a process may have no 10,000 files open (ulimit -Hn)");
    else report.metric(SESSIONS_BACK, await sessionsBack(), "s", MOST_BACK);
  },
};

/** Sessions of the library lose their gateway, which is started again: how long until all are live again. */
async function sessionsBack(): Promise<number> {
  const parts = Array.from({ length: SESSION_PARTS }, () => new Worker("sessions"));
  const started: Process[] = [...parts];
  try {
    const port = await freePort();
    // Each session has an address of its own, all of which are this machine's.
    const options = process.platform === "linux" ? ["--host", "0.0.0.0", "--open"] : [];
    const gateway = await GatewayProcess.start(options, port);
    started.push(gateway);
    const sessions = SESSIONS / SESSION_PARTS;
    await Promise.all(
      parts.map((worker, part) => worker.call("open", { port, part, sessions } satisfies OpenSessions)),
    );
    await delay(SETTLE_MS);
    const killed = performance.now();
    const back = Promise.all(parts.map(worker => worker.call("back")));
    // Where the gateway does not come back, that is the failure to be told of.
    back.catch(() => {});
    const gone = new Promise(resolve => gateway.child.once("exit", resolve));
    gateway.child.kill("SIGKILL");
    await gone;
    started.push(await GatewayProcess.start(options, port));
    await back;
    return (performance.now() - killed) / 1000;
  } finally {
    await Promise.all(started.map(process => process.stop()));
  }
}

async function measure(kind: Kind, count: number, costs: Costs): Promise<void> {
  const idlers = Array.from({ length: PARTS }, () => new Worker("idlers"));
  const started: Process[] = [...idlers];
  try {
    // Not one that the server chooses itself: uWebSockets.js could not take that again at once.
    const port = await freePort();
    let server = await start(kind, port, started);
    const all = (connections: number): Promise<unknown> =>
      Promise.all(
        idlers.map((idler, part) =>
          idler.call("open", { kind, port, part, connections: connections / PARTS } satisfies OpenIdlers),
        ),
      );
    const [first, looked] = [FIRST, BEFORE_LOOK].map(share => PARTS * Math.ceil((share * count) / PARTS)) as [
      number,
      number,
    ];
    await all(first);
    let [cpuMs, generatorMs, seconds] = [0, 0, 0];
    const accept = async (connections: number): Promise<void> => {
      const [cpu, generatorCpu, begin] = [server.cpuMs(), cpuMsOfAll(idlers), performance.now()];
      await all(connections);
      seconds += (performance.now() - begin) / 1000;
      cpuMs += server.cpuMs() - cpu;
      generatorMs += cpuMsOfAll(idlers) - generatorCpu;
    };
    await accept(looked - first);
    const memory = await heldBytes(server);
    await accept(count - looked);
    costs.accept.push((count - first) / seconds);
    costs.cpu.push((1000 * cpuMs) / (count - first));
    costs.generator.push((1000 * generatorMs) / (count - first));
    await delay(SETTLE_MS);
    costs.resident.push((server.memoryBytes() - memory) / (count - looked));
    costs.bytes.push(((await heldBytes(server)) - memory) / (count - looked));
    const killed = performance.now();
    const back = Promise.all(idlers.map(idler => idler.call("back")));
    // Where the server does not come back, that is the failure to be told of.
    back.catch(() => {});
    server.child.kill("SIGKILL");
    server = await start(kind, port, started);
    await back;
    costs.back.push((performance.now() - killed) / 1000);
  } finally {
    await Promise.all(started.map(process => process.stop()));
  }
}

async function start(kind: Kind, port: number, started: Process[]): Promise<Process> {
  if (kind === "jecho") {
    const gateway = await GatewayProcess.start([], port, COLLECTS);
    started.push(gateway);
    return gateway;
  }
  const worker = new Worker("broadcaster", [kind], COLLECTS);
  started.push(worker);
  await worker.call("listen", port);
  return worker;
}

/** Without garbage: the least of some looks. V8 gives pages back some time after it has emptied them. */
async function heldBytes(server: Process): Promise<number> {
  const looks: number[] = [];
  for (let look = 0; look < 4; look++) {
    server.collect();
    await delay(SETTLE_MS);
    looks.push(server.memoryBytes());
  }
  return Math.min(...looks);
}
