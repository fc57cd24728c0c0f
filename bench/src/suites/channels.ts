import { GatewayProcess, Worker } from "../processes.ts";
import { atLeast } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Published } from "../window.ts";
import type { RoundRobin } from "../workers/publisher.ts";

const COUNTS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];
const QUICK_COUNTS = [1, 64, 4096, 65536];
/** What the paper calls null. */
const EVENT_BYTES = 0;
const SHORT_MS = 600;

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
    const times = new Map<number, { clock: number[]; cpu: number[] }>(
      counts.map(count => [count, { clock: [], cpu: [] }]),
    );
    try {
      const names = Array.from({ length: Math.max(...counts) }, (_, i) => `channels/${i}`);
      const memory = gateway.memoryBytes();
      const start = performance.now();
      await producer.call("open", { port: gateway.port, channels: names });
      await consumer.call("open", { port: gateway.port, channels: names });
      const seconds = (performance.now() - start) / 1000;
      report.metric("channels.open_65536", (1e6 * seconds) / names.length, "us/channel");
      report.metric("channels.gateway_memory", (gateway.memoryBytes() - memory) / names.length, "B/channel");
      for (const channel of [names[0], names.at(-1)])
        await producer.call("demand", { channel, consumers: 1 });
      for (let round = -1; round < rounds; round++)
        for (const [count, { clock, cpu }] of times) {
          const processes = [gateway, producer, consumer];
          const before = processes.reduce((sum, process) => sum + process.cpuMs(), 0);
          const options: RoundRobin = { channels: count, eventBytes: EVENT_BYTES, ms };
          const { events, usPerEvent } = await producer.call<Published>("roundRobin", options);
          const used = processes.reduce((sum, process) => sum + process.cpuMs(), 0) - before;
          if (round < 0) continue;
          clock.push(usPerEvent);
          cpu.push((1000 * used) / events);
        }
    } finally {
      await Promise.all([producer, consumer, gateway].map(process => process.stop()));
    }
    for (const [count, { clock, cpu }] of times) {
      report.metric(`channels.async_${count}`, clock, "us/event");
      report.metric(`channels.async_cpu_${count}`, cpu, "us/event");
    }
    const [one, most] = [1, 65536].map(count => times.get(count)?.clock ?? []) as [number[], number[]];
    report.metric("channels.65536_vs_1", ratios(one, most), "x", atLeast(0.9));
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
