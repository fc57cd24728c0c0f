import { startBrokers } from "../brokers.ts";
import { type Load, LoadGenerator, type Server } from "../crowd.ts";
import { mostConnections } from "../file-limit.ts";
import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atLeast, atMost, type Goal, type Report } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Flow } from "../workers/producer.ts";
import { extraSinks } from "./extra-sinks.ts";

const FEW = 100;
const SUBSCRIBERS = 1000;
const MANY = 5000;
const SMALL_BYTES = 128;
const LARGE_BYTES = 16 * 1024;
const ONE_AT_A_TIME: Flow = { eventBytes: SMALL_BYTES, window: 1 };
/** At the least, by the number of subscribers: what a slow server has under way is to be delivered within a second or two. */
const flatOut = (subscribers: number): Flow => ({
  eventBytes: SMALL_BYTES,
  window: subscribers > SUBSCRIBERS ? 16 : 64,
});
const LARGE: Flow = { eventBytes: LARGE_BYTES, window: 8 };

/** Flat out, each server has under way what it delivers in this time, but not more than so many events. */
const UNDER_WAY_SECONDS = 0.25;
const MOST_UNDER_WAY = 1024;
const TRIES = 3;

type Loads = ReadonlyMap<string, readonly Load[]>;

/** Figure 4 of JECho's paper, with today's numbers of viewers. */
export const sinks: Suite = {
  name: "sinks",
  about:
    "one event to 100 to 5,000 WebSocket subscribers, against today's servers; 1 to 64 consumers in own processes",
  async run(context) {
    await crowded(context);
    await extraSinks(context);
  },
};

async function crowded({ report, quick }: Context): Promise<void> {
  const processes: Process[] = [];
  const servers = await startServers(report, processes);
  const counts = quick ? [FEW, SUBSCRIBERS] : [FEW, SUBSCRIBERS, MANY];
  const sockets = servers.length * (counts.at(-1) as number);
  // Parts share the subscribers out evenly, so there are as many as divide them.
  const parts = [2, 4, 10, 20, 50].find(parts => sockets / parts <= mostConnections());
  const generator = new LoadGenerator(parts ?? 50);
  const rounds = quick ? 3 : 5;
  const ms = quick ? 400 : 1000;
  try {
    const flat = new Map<number, Loads>();
    for (const count of counts) {
      for (const server of servers)
        await generator.attach(server, { subscribers: count, eventBytes: SMALL_BYTES });
      const measure = (of: readonly Server[], flow: Flow, adapts = false): Promise<Loads> =>
        interleave(generator, of, flow, {
          adapts,
          // What has a goal is measured more often.
          rounds: count === SUBSCRIBERS ? rounds : Math.min(rounds, 3),
          ms: count === SUBSCRIBERS ? ms : ms / 2,
          subscribers: count,
        });
      if (count === SUBSCRIBERS) await fixedWindows(report, servers, measure);
      const all = servers.filter(({ name }) => name !== "uws" || !quick);
      const loads = await measure(all, flatOut(count), true);
      flat.set(count, loads);
      tell(report, `async_${count}`, loads);
      compareFlatOut(report, count, loads);
    }
    plotFlatOut(report, flat);
  } finally {
    await generator.stop();
    await Promise.all(processes.map(process => process.stop()));
  }
}

/** One event at a time, and large ones. */
async function fixedWindows(
  report: Report,
  servers: readonly Server[],
  measure: (servers: readonly Server[], flow: Flow) => Promise<Loads>,
): Promise<void> {
  const named = (...names: string[]): Server[] => servers.filter(({ name }) => names.includes(name));
  const single = await measure(named("jecho", "uws"), ONE_AT_A_TIME);
  tell(report, "single_1000", single);
  compare(report, "sinks.single_1000_vs_uws_bare", atMost(1.15), cpuPerDelivery, single, "jecho", "uws");
  const large = await measure(named("jecho", "ws", "uws"), LARGE);
  tell(report, "async_1000_16kb", large);
  compare(report, "sinks.async_1000_16kb_vs_ws", atLeast(0.95), perSecond, large, "jecho", "ws");
}

/** Goals are for 1,000 subscribers; the same ratios stand there for the other numbers. */
function compareFlatOut(report: Report, count: number, loads: Loads): void {
  const goal = (goal: Goal): Goal | undefined => (count === SUBSCRIBERS ? goal : undefined);
  compare(
    report,
    `sinks.async_${count}_vs_uws_bare`,
    goal(atMost(0.5)),
    cpuPerDelivery,
    loads,
    "jecho",
    "uws16",
  );
  for (const [peer, least] of [
    ["socketio", 10],
    ["ws", 10],
    ["nats", 3],
    ["mosquitto", 20],
  ] as const)
    compare(
      report,
      `sinks.async_${count}_vs_${peer}`,
      goal(atLeast(least)),
      perCpuSecond,
      loads,
      "jecho",
      peer,
    );
}

function plotFlatOut(report: Report, flat: ReadonlyMap<number, Loads>): void {
  const names = [...new Set([...flat.values()].flatMap(loads => [...loads.keys()]))];
  report.plot({
    name: "sinks-subscribers",
    title: "Events of 128 bytes to WebSocket subscribers, flat out",
    x: { label: "subscribers", scale: "log" },
    y: { label: "CPU of the server per delivery", unit: "us", scale: "log" },
    series: names.map(name => ({
      name,
      points: [...flat].map(([count, loads]) => [
        count,
        (loads.get(name) ?? []).map(load => 1000 * cpuPerDelivery(load)),
      ]),
    })),
  });
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

/**
 * Round after round, each server in turn; the first round is for warming up.
 *
 * @param adapts the window of a server that can deliver more becomes larger
 */
async function interleave(
  generator: LoadGenerator,
  servers: readonly Server[],
  flow: Flow,
  { adapts, rounds, ms, subscribers }: { adapts: boolean; rounds: number; ms: number; subscribers: number },
): Promise<Loads> {
  const loads = new Map<string, Load[]>(servers.map(({ name }) => [name, []]));
  const flows = new Map<Server, Flow>();
  for (const server of servers) {
    let { window } = flow;
    for (let tries = 0; tries < TRIES; tries++) {
      const load = await generator.load(server, { ...flow, window }, ms / 2);
      const wanted = Math.round((UNDER_WAY_SECONDS * load.deliveries) / load.seconds / subscribers);
      // More under way may let it deliver more, and then more is to be under way.
      if (!adapts || wanted < 1.25 * window) break;
      window = Math.min(wanted, MOST_UNDER_WAY);
    }
    flows.set(server, { ...flow, window });
  }
  for (let round = 0; round < rounds; round++) {
    for (const [server, its] of flows) loads.get(server.name)?.push(await generator.load(server, its, ms));
  }
  return loads;
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
  goal: Goal | undefined,
  measure: (load: Load) => number,
  loads: Loads,
  ours: string,
  theirs: string,
): void {
  const [above, below] = [loads.get(ours), loads.get(theirs)];
  if (above === undefined || below === undefined) {
    if (goal !== undefined) report.missing(metric, goal, `${theirs} is not there`);
    return;
  }
  report.metric(metric, ratios(above.map(measure), below.map(measure)), "x", goal);
}
