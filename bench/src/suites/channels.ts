import { startNats } from "../brokers.ts";
import { MissingPeer } from "../installed.ts";
import { cpuMsOfAll, GatewayProcess, type Process, Worker } from "../processes.ts";
import { atLeast, atMost, type Report } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import { eventsIn, type Published } from "../window.ts";
import type { OpenSubjects } from "../workers/nats-subjects.ts";
import type { AcknowledgedRoundRobin, RoundRobin } from "../workers/publisher.ts";

const COUNTS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];
const QUICK_COUNTS = [1, 64, 4096, 65536];
/** Size of the paper's null event. */
const EVENT_BYTES = 0;
const SHORT_MS = 600;
const COMPARED = [1, 65536];
const VS_NATS = "channels.65536_vs_nats";
const VS_NATS_GOAL = atLeast(2);

/** Times for one number of channels, a value for each round. */
interface Times {
  readonly clock: number[];
  readonly cpu: number[];
  /** The newest of them. */
  newest: Published | undefined;
  /** The same with acknowledgements on the way, for the numbers that are compared. */
  readonly acknowledged: number[];
}

/** Figure 6 of JECho's paper. */
export const channels: Suite = {
  name: "channels",
  about: "events round robin over 1 to 65,536 channels, from one process to another",
  async run({ report, quick }: Context) {
    const counts = quick ? QUICK_COUNTS : COUNTS;
    const rounds = quick ? 3 : 5;
    const ms = quick ? SHORT_MS : 2 * SHORT_MS;
    const gateway = await GatewayProcess.start();
    const [producer, consumer] = [new Worker("publisher"), new Worker("consumer")];
    const processes = [gateway, producer, consumer];
    let nats: NatsSubjects | undefined;
    const times = new Map<number, Times>(
      counts.map(count => [count, { clock: [], cpu: [], newest: undefined, acknowledged: [] }]),
    );
    try {
      const names = Array.from({ length: Math.max(...counts) }, (_, i) => `channels/${i}`);
      nats = await NatsSubjects.start(report, names);
      const memory = gateway.memoryBytes();
      const start = performance.now();
      await producer.call("open", { port: gateway.port, channels: names });
      await consumer.call("open", { port: gateway.port, channels: names });
      const seconds = (performance.now() - start) / 1000;
      report.metric("channels.open_65536", (1e6 * seconds) / names.length, "us/channel");
      report.metric("channels.gateway_memory", (gateway.memoryBytes() - memory) / names.length, "B/channel");
      for (const channel of [names[0], names.at(-1)])
        await producer.call("demand", { channel, consumers: 1 });
      for (let round = -1; round < rounds; round++) {
        for (const [count, its] of times) {
          const before = cpuMsOfAll(processes);
          const common = { channels: count, eventBytes: EVENT_BYTES };
          const flatOut: RoundRobin = { ...common, events: eventsIn(ms, its.newest) };
          const newest = await producer.call<Published>("roundRobin", flatOut);
          const used = cpuMsOfAll(processes) - before;
          const windowed: AcknowledgedRoundRobin = { ...common, ms: SHORT_MS };
          const acknowledged =
            COMPARED.includes(count) && (await producer.call<Published>("acknowledgedRoundRobin", windowed));
          its.newest = newest;
          if (round < 0) continue;
          its.clock.push(newest.usPerEvent);
          its.cpu.push((1000 * used) / newest.events);
          if (acknowledged) its.acknowledged.push(acknowledged.usPerEvent);
        }
        await nats?.round(ms, round >= 0);
      }
    } finally {
      await Promise.all([...processes, ...(nats?.processes ?? [])].map(process => process.stop()));
    }
    for (const [count, { clock, cpu, acknowledged }] of times) {
      report.metric(`channels.async_${count}`, clock, "us/event");
      report.metric(`channels.async_cpu_${count}`, cpu, "us/event");
      if (acknowledged.length > 0) report.metric(`channels.acknowledged_${count}`, acknowledged, "us/event");
    }
    const [one, most] = COMPARED.map(count => times.get(count)) as [Times, Times];
    report.metric("channels.65536_us", most.cpu, "us/event", atMost(2));
    if (nats === undefined) report.missing(VS_NATS, VS_NATS_GOAL, "nats is not there");
    else {
      report.metric("channels.nats_cpu_65536", nats.cpu, "us/event");
      report.metric(VS_NATS, ratios(nats.cpu, most.cpu), "x", VS_NATS_GOAL);
    }
    report.metric("channels.65536_vs_1", ratios(one.clock, most.clock), "x");
    report.metric("channels.acknowledged_65536_vs_1", ratios(one.acknowledged, most.acknowledged), "x");
    report.plot({
      name: "channels",
      title: "Null events round robin over many channels",
      x: { label: "channels", scale: "log" },
      y: { label: "time per event", unit: "us" },
      series: [
        { name: "clock", points: [...times].map(([count, { clock }]) => [count, clock]) },
        { name: "CPU, all processes", points: [...times].map(([count, { cpu }]) => [count, cpu]) },
      ],
    });
  },
};

/** The same over as many subjects of nats-server, in processes of its own with its client for Node. */
class NatsSubjects {
  readonly processes: readonly Process[];
  /** CPU of all processes for each event, by the round. */
  readonly cpu: number[] = [];
  readonly #producer: Worker;
  readonly #consumer: Worker;
  readonly #subjects: number;
  #newest: Published | undefined;

  private constructor(server: Process, producer: Worker, consumer: Worker, subjects: number) {
    this.processes = [server, producer, consumer];
    this.#producer = producer;
    this.#consumer = consumer;
    this.#subjects = subjects;
  }

  /** Undefined, with a note, where there is no nats-server. */
  static async start(report: Report, names: readonly string[]): Promise<NatsSubjects | undefined> {
    try {
      const { process, tcpPort } = await startNats();
      const workers = [new Worker("nats-subjects"), new Worker("nats-subjects")] as const;
      const nats = new NatsSubjects(process, ...workers, names.length);
      const options: OpenSubjects = { port: tcpPort, subjects: names.map(name => name.replaceAll("/", ".")) };
      await nats.#producer.call("open", options);
      await nats.#consumer.call("subscribe", options);
      return nats;
    } catch (error) {
      if (!(error instanceof MissingPeer)) throw error;
      report.note(`without a peer: ${error.message}`);
      return undefined;
    }
  }

  async round(ms: number, isCounted: boolean): Promise<void> {
    const before = cpuMsOfAll(this.processes);
    const events = eventsIn(ms, this.#newest);
    const options: RoundRobin = { channels: this.#subjects, eventBytes: EVENT_BYTES, events };
    this.#newest = await this.#producer.call<Published>("publish", options);
    await this.#consumer.call("heard", events);
    if (isCounted) this.cpu.push((1000 * (cpuMsOfAll(this.processes) - before)) / events);
  }
}
