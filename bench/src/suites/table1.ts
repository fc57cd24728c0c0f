import { startBrokers } from "../brokers.ts";
import { OBJECT_NAMES } from "../objects.ts";
import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost, type Goal } from "../report.ts";
import { ratios } from "../statistics.ts";
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

/** What is held against what, on which object. */
const COMPARISONS: readonly (readonly [string, Way, Way, string, Goal | undefined])[] = [
  ["sync_vs_relay_composite", "jecho_sync", "ws_relayed", "composite", atMost(1.3)],
  ["sync_vs_tcp_relay_composite", "jecho_sync", "tcp_relayed", "composite", undefined],
  ["sync_vs_grpc_composite", "jecho_sync", "grpc", "composite", atMost(0.6)],
  ["sync_vs_socketio_composite", "jecho_sync", "socketio", "composite", undefined],
  ["sync_vs_nats_composite", "jecho_sync", "nats", "composite", undefined],
  ["sync_vs_mosquitto_composite", "jecho_sync", "mosquitto", "composite", undefined],
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

      const ms = quick ? 100 : 250;
      const rounds = quick ? 5 : 7;
      const times = new Map<string, number[]>();
      // A first look at everything, so that nothing is measured while it is still being compiled.
      for (const object of OBJECT_NAMES)
        for (const way of ways)
          await source.call("measure", { way, object, ms: quick ? 150 : 500 } satisfies Measure);
      for (const object of OBJECT_NAMES) {
        for (const way of ways) times.set(`${way} ${object}`, []);
        for (let round = 0; round < rounds; round++)
          for (const way of ways)
            times
              .get(`${way} ${object}`)
              ?.push(await source.call<number>("measure", { way, object, ms } satisfies Measure));
        for (const way of ways)
          report.metric(`table1.${way}_${object}`, times.get(`${way} ${object}`) ?? [], "us");
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
