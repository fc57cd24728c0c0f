import { GatewayProcess, type Process, Worker } from "../processes.ts";
import type { Report } from "../report.ts";
import { summarise } from "../statistics.ts";
import { type Context, repeat, type Suite } from "../suite.ts";
import type { Consume, GrowingTier, Produce, Stream } from "../workers/growing.ts";

/** A kind of thing that there is more and more of, and what that costs. */
interface Growing {
  readonly name: string;
  readonly tier: GrowingTier;
  readonly counts: readonly number[];
  readonly quick: readonly number[];
  readonly of: "filters" | "consumers" | "producers" | "channels";
}

const TENS = [1, 10, 100, 1000, 10_000];
const GROWING: readonly Growing[] = [
  { name: "modulators_known", tier: "known", counts: TENS, quick: [1, 100], of: "filters" },
  { name: "modulators_compiled", tier: "compiled", counts: TENS, quick: [1, 100], of: "filters" },
  // Each takes 0.15 MB of its host, and a share of its thread for each event.
  { name: "modulators_hosted", tier: "hosted", counts: [1, 4, 16, 64, 256], quick: [1, 8], of: "filters" },
  { name: "consumers", tier: "compiled", counts: [1, 10, 100, 1000], quick: [1, 50], of: "consumers" },
  { name: "producers", tier: "compiled", counts: [1, 10, 100, 1000], quick: [1, 50], of: "producers" },
  { name: "channels", tier: "compiled", counts: TENS, quick: [1, 100], of: "channels" },
];
const PER_SECOND = 1000;

/** Cost of an event against the number of modulators, consumers, producers and channels. */
export const growth: Suite = {
  name: "growth",
  about: "what an event costs with ever more modulators, consumers, producers and channels",
  limitMs: 1_800_000,
  async run({ report, quick }: Context) {
    const series: { name: string; points: [number, number[]][] }[] = [];
    for (const growing of GROWING) {
      const points: [number, number[]][] = [];
      series.push({ name: growing.name.replace("_", ", "), points });
      for (const count of quick ? growing.quick : growing.counts) {
        const costs = await costsOf(growing, count, quick);
        report.metric(`growth.${growing.name}_${count}`, costs, "us/event");
        points.push([count, costs]);
      }
      slope(report, growing.name, points);
    }
    report.plot({
      name: "growth",
      title: "Processor time of an event, of all processes but the consumers'",
      x: { label: "number", scale: "log" },
      y: { label: "time", unit: "us/event", scale: "log" },
      series,
    });
  },
};

/** Microseconds of processor time for an event, in the gateway's process, the producer's and its host. */
async function costsOf({ tier, of }: Growing, count: number, quick: boolean): Promise<number[]> {
  const gateway = await GatewayProcess.start(["--limit", `modulatorsPerConnection=${count + 1}`]);
  const [producing, consuming] = [new Worker("growing"), new Worker("growing")];
  const counted: readonly Process[] = [gateway, producing];
  const cpuMs = (): number => counted.reduce((sum, process) => sum + process.treeCpuMs(), 0);
  try {
    const channels = Array.from({ length: of === "channels" ? count : 1 }, (_, i) => `growth/${i}`);
    const produce: Produce = { port: gateway.port, channels, each: of === "producers" ? count : 1, tier };
    await producing.call("produce", produce);
    const by = {
      filters: "filters",
      consumers: "connections",
      producers: "channels",
      channels: "channels",
    } as const;
    const consumers = of === "producers" ? 1 : count;
    const consume: Consume = { port: gateway.port, channels, count: consumers, by: by[of] };
    await consuming.call("consume", consume);
    const stream: Stream = { perSecond: PER_SECOND, ms: quick ? 300 : 2000, filters: count };
    return await repeat(quick ? 2 : 7, async () => {
      const before = cpuMs();
      const events = await producing.call<number>("stream", stream);
      return (1000 * (cpuMs() - before)) / events;
    });
  } finally {
    await Promise.all([gateway, producing, consuming].map(process => process.stop()));
  }
}

/** The exponent by which the cost grows with the number: of the line through the logarithms' points, by least squares. */
function slope(report: Report, name: string, points: readonly [number, number[]][]): void {
  const logs = points.map(([count, costs]) => [Math.log(count), Math.log(summarise(costs).median)] as const);
  const mean = (i: 0 | 1): number => logs.reduce((sum, log) => sum + log[i], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const over = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  const under = logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  report.metric(`growth.${name}_slope`, over / under, "exponent");
}
