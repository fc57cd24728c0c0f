import { startBrokers } from "../brokers.ts";
import { OBJECT_NAMES } from "../objects.ts";
import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost, formatNumber, type Goal, type Report } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Hops, SinkPorts } from "../workers/rpc-sink.ts";
import type { Measure, Way } from "../workers/rpc-source.ts";

const WAYS: readonly Way[] = [
  "tcp",
  "tcp_relayed",
  "ws",
  "ws_relayed",
  "grpc",
  "socketio",
  "nats",
  "mosquitto",
  "jecho_sync",
  "jecho_async",
];

/** Most comparisons are of this object: it is measured more often, and longer beforehand. */
const COMPARED = "composite";
const TIMES = {
  compared: { quick: { warmUpMs: 400, rounds: 7 }, full: { warmUpMs: 1000, rounds: 15 } },
  others: { quick: { warmUpMs: 120, rounds: 5 }, full: { warmUpMs: 300, rounds: 7 } },
} as const;

/** Pairs of ways that are compared, and on which object. */
const COMPARISONS: readonly (readonly [string, Way, Way, string, Goal | undefined])[] = [
  ["sync_vs_relay_composite", "jecho_sync", "ws_relayed", COMPARED, atMost(1.3)],
  ["sync_vs_tcp_relay_composite", "jecho_sync", "tcp_relayed", COMPARED, undefined],
  ["sync_vs_grpc_composite", "jecho_sync", "grpc", COMPARED, atMost(0.6)],
  ["sync_vs_socketio_composite", "jecho_sync", "socketio", COMPARED, undefined],
  ["sync_vs_nats_composite", "jecho_sync", "nats", COMPARED, undefined],
  ["sync_vs_mosquitto_composite", "jecho_sync", "mosquitto", COMPARED, undefined],
  ["async_vs_sync_null", "jecho_async", "jecho_sync", "null", atMost(0.075)],
];

/** Table 1 of JECho's paper. */
export const table1: Suite = {
  name: "table1",
  about: "round trips of five objects, raw, relayed, by gRPC, Socket.IO, NATS, MQTT and JEcho",
  async run({ report, quick }: Context) {
    const processes: Process[] = [];
    try {
      const gateway = await GatewayProcess.start();
      const [relay, sink, source] = ["relay", "rpc-sink", "rpc-source"].map(name => new Worker(name)) as [
        Worker,
        Worker,
        Worker,
      ];
      processes.push(gateway, relay, sink, source);
      const { tcp, ws } = await relay.call<{ tcp: number; ws: number }>("listen");
      const brokers = await startBrokers(report, processes);
      const portOf = (name: string): number | undefined =>
        brokers.find(broker => broker.name === name)?.tcpPort;
      const hops: Hops = {
        gateway: gateway.port,
        relayTcp: tcp,
        relayWs: ws,
        nats: portOf("nats"),
        mosquitto: portOf("mosquitto"),
      };
      const ways = WAYS.filter(way => (way !== "nats" && way !== "mosquitto") || hops[way] !== undefined);
      const ports = await sink.call<SinkPorts>("open", hops);
      await source.call("open", { hops, ports });

      const between: Partial<Record<Way, Process>> = {
        tcp_relayed: relay,
        ws_relayed: relay,
        ...Object.fromEntries(brokers.map(({ name, process }) => [name, process])),
        jecho_sync: gateway,
        jecho_async: gateway,
      };
      const ms = quick ? 80 : 150;
      const timesOf = (object: string): { readonly warmUpMs: number; readonly rounds: number } =>
        TIMES[object === COMPARED ? "compared" : "others"][quick ? "quick" : "full"];
      const times = new Map<string, number[]>();
      // A first look at everything, so that nothing is measured while it is still being compiled.
      for (const object of OBJECT_NAMES)
        for (const way of ways)
          await source.call("measure", { way, object, ms: timesOf(object).warmUpMs } satisfies Measure);
      for (const object of OBJECT_NAMES) {
        const cpu = new Map<Way, number[][]>();
        for (const way of ways) times.set(`${way} ${object}`, []);
        for (const way of ways) cpu.set(way, []);
        const { rounds } = timesOf(object);
        for (let round = 0; round < rounds; round++)
          for (const way of ways) {
            const processes = [source, between[way], sink];
            const look = (): number[] => processes.map(process => process?.cpuMs() ?? 0);
            const [before, start] = [look(), performance.now()];
            const us = await source.call<number>("measure", { way, object, ms } satisfies Measure);
            const trips = (1000 * (performance.now() - start)) / us;
            times.get(`${way} ${object}`)?.push(us);
            cpu.get(way)?.push(look().map((after, i) => (1000 * (after - (before[i] as number))) / trips));
          }
        for (const way of ways)
          report.metric(`table1.${way}_${object}`, times.get(`${way} ${object}`) ?? [], "us");
        if (object === COMPARED) tellCpu(report, cpu);
      }
      for (const [name, ours, theirs, object, goal] of COMPARISONS) {
        if (!ways.includes(theirs)) continue;
        const of = (way: Way): number[] => times.get(`${way} ${object}`) ?? [];
        report.metric(`table1.${name}`, ratios(of(ours), of(theirs)), "x", goal);
      }
    } finally {
      await Promise.all(processes.map(process => process.stop()));
    }
  },
};

/** Tells the CPU time of each process, beside the clock. */
function tellCpu(report: Report, cpu: ReadonlyMap<Way, readonly (readonly number[])[]>): void {
  for (const [way, rounds] of cpu) {
    const [source, between, sink] = [0, 1, 2].map(part =>
      formatNumber(summarise(rounds.map(parts => parts[part] as number)).median),
    );
    const middle = Number(between) === 0 ? "" : `${between} us of what is in between, `;
    report.note(`table1.${way}_composite: CPU ${source} us of the source, ${middle}${sink} us of the sink`);
  }
}
