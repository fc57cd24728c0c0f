import { startBrokers } from "../brokers.ts";
import { type Load, LoadGenerator, type Server } from "../crowd.ts";
import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atLeast, atMost, type Goal, type Report } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Flow } from "../workers/producer.ts";
import { extraSinks } from "./extra-sinks.ts";

const SUBSCRIBERS = 1000;
const SMALL_BYTES = 128;
const LARGE_BYTES = 16 * 1024;
const ONE_AT_A_TIME: Flow = { eventBytes: SMALL_BYTES, window: 1 };
const FLAT_OUT: Flow = { eventBytes: SMALL_BYTES, window: 64 };
const LARGE: Flow = { eventBytes: LARGE_BYTES, window: 8 };

/** Flat out, each server has under way what it delivers in this time, but not more than so many events. */
const UNDER_WAY_SECONDS = 0.25;
const MOST_UNDER_WAY = 1024;

type Loads = ReadonlyMap<string, readonly Load[]>;

/** Figure 4 of JECho's paper, with today's numbers of viewers. */
export const sinks: Suite = {
  name: "sinks",
  about:
    "one event to 1,000 WebSocket subscribers, against today's servers; 1 to 64 consumers in own processes",
  async run(context) {
    await crowded(context);
    await extraSinks(context);
  },
};

async function crowded({ report, quick }: Context): Promise<void> {
  const processes: Process[] = [];
  const generator = new LoadGenerator(2);
  try {
    const servers = await startServers(report, processes);
    for (const server of servers) {
      const options = { subscribers: SUBSCRIBERS, eventBytes: SMALL_BYTES };
      await generator.attach(server, options);
    }
    const named = (...names: string[]): Server[] => servers.filter(({ name }) => names.includes(name));
    const rounds = quick ? 3 : 7;
    const ms = quick ? 500 : 1500;

    const single = await interleave(generator, named("jecho", "uws"), ONE_AT_A_TIME, rounds, ms);
    tell(report, "single_1000", single);
    compare(report, "sinks.single_1000_vs_uws_bare", atMost(1.15), cpuPerDelivery, single, "jecho", "uws");

    const all = servers.filter(({ name }) => name !== "uws" || !quick);
    const flat = await interleave(generator, all, FLAT_OUT, rounds, ms);
    tell(report, "async_1000", flat);
    compare(report, "sinks.async_1000_vs_uws_bare", atMost(0.5), cpuPerDelivery, flat, "jecho", "uws16");
    for (const [peer, goal] of [
      ["socketio", 10],
      ["ws", 10],
      ["nats", 3],
      ["mosquitto", 20],
    ] as const) {
      compare(report, `sinks.async_1000_vs_${peer}`, atLeast(goal), perCpuSecond, flat, "jecho", peer);
    }

    const large = await interleave(generator, named("jecho", "ws", "uws"), LARGE, rounds, ms);
    tell(report, "async_1000_16kb", large);
    compare(report, "sinks.async_1000_16kb_vs_ws", atLeast(0.95), perSecond, large, "jecho", "ws");
  } finally {
    await generator.stop();
    await Promise.all(processes.map(process => process.stop()));
  }
}

async function startServers(report: Report, processes: Process[]): Promise<Server[]> {
  const gateway = await GatewayProcess.start();
  processes.push(gateway);
  const servers: Server[] = [{ name: "jecho", kind: "jecho", process: gateway, port: gateway.port }];
  for (const [name, kind] of [
    ["uws", "uws"],
    ["uws16", "uws"],
    ["ws", "ws"],
    ["socketio", "socketio"],
  ] as const) {
    const process = new Worker("broadcaster", [name]);
    processes.push(process);
    servers.push({ name, kind, process, port: await process.call<number>("listen", 0) });
  }
  for (const { name, process, port } of await startBrokers(report, processes))
    servers.push({ name, kind: name, process, port });
  return servers;
}

/** Round after round, each server in turn; the first round is for warming up. */
async function interleave(
  generator: LoadGenerator,
  servers: readonly Server[],
  flow: Flow,
  rounds: number,
  ms: number,
): Promise<Loads> {
  const loads = new Map<string, Load[]>(servers.map(({ name }) => [name, []]));
  const flows = new Map<Server, Flow>();
  for (const server of servers) {
    const load = await generator.load(server, flow, ms / 2);
    const window = Math.round((UNDER_WAY_SECONDS * load.deliveries) / load.seconds / SUBSCRIBERS);
    const isSmall = flow.window === FLAT_OUT.window;
    flows.set(server, isSmall ? { ...flow, window: clamp(window, flow.window, MOST_UNDER_WAY) } : flow);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [server, its] of flows) loads.get(server.name)?.push(await generator.load(server, its, ms));
  }
  return loads;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

const cpuPerDelivery = ({ serverMs, deliveries }: Load): number => serverMs / deliveries;
const perCpuSecond = ({ serverMs, deliveries }: Load): number => deliveries / (serverMs / 1000);
const perSecond = ({ seconds, deliveries }: Load): number => deliveries / seconds;

function tell(report: Report, part: string, loads: Loads): void {
  for (const [name, rounds] of loads) {
    const of = `sinks.${part}_${name}`;
    report.metric(`${of}_per_cpu_second`, rounds.map(perCpuSecond), "deliveries/s");
    report.metric(`${of}_per_second`, rounds.map(perSecond), "deliveries/s");
    const wire = summarise(rounds.map(({ wireBytes }) => wireBytes)).median;
    const [generator, producer] = (["generatorMs", "producerMs"] as const).map(
      key => summarise(rounds.map(load => (1e6 * load[key]) / load.deliveries)).median,
    ) as [number, number];
    report.note(
      `${of}: ${wire.toFixed(0)} bytes on the wire per delivery; CPU per delivery of the load generator ${generator.toFixed(0)} ns, of the producer ${producer.toFixed(1)} ns`,
    );
  }
}

function compare(
  report: Report,
  metric: string,
  goal: Goal,
  measure: (load: Load) => number,
  loads: Loads,
  ours: string,
  theirs: string,
): void {
  const [above, below] = [loads.get(ours), loads.get(theirs)];
  if (above === undefined || below === undefined) {
    report.missing(metric, goal, `${theirs} is not there`);
    return;
  }
  report.metric(metric, ratios(above.map(measure), below.map(measure)), "x", goal);
}
