import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context } from "../suite.ts";

/**
 * How a stream of records is thinned at its producer: percent rejected, or no modulator at all. The filter is hosted, like
 * anybody's, or runs beside the producer, which trusts it: ECho compiled its filters into the source's own process.
 */
const SCENARIOS = {
  plain: undefined,
  rejecting0: 0,
  rejecting50: 50,
  rejecting100: 100,
  local_rejecting0: 0,
  local_rejecting50: 50,
  local_rejecting100: 100,
} as const;
type Scenario = keyof typeof SCENARIOS;
const SCENARIO_NAMES = Object.keys(SCENARIOS) as Scenario[];
const ARRAYS = ["whole", "averaged", "local_averaged"] as const;
type Arrays = (typeof ARRAYS)[number];

/** Part of `eager`: figure 8 of ECho's paper, what its filters cost and save at the producer. */
export async function eagerFilters(context: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  const [source, sink] = [new Worker("eager-source"), new Worker("eager-sink")];
  try {
    const { port } = gateway;
    await source.call("open", { port, scenarios: SCENARIO_NAMES, arrays: ARRAYS });
    for (const scenario of SCENARIO_NAMES)
      await sink.call("records", { port, scenario, filter: SCENARIOS[scenario] });
    for (const scenario of ARRAYS)
      await sink.call("arrays", { port, scenario, isEager: scenario !== "whole" });
    await breakEven(context, source);
    await averaging(context, source, [source, gateway, sink]);
  } finally {
    await Promise.all([source, sink, gateway].map(process => process.stop()));
  }
}

/** CPU of the producer's processes at several rates of records. */
async function breakEven({ report, quick }: Context, source: Worker): Promise<void> {
  const rates = quick ? [5000, 50_000] : [1000, 10_000, 50_000];
  const rounds = quick ? 2 : 3;
  const ms = quick ? 250 : 1000;
  const shares = new Map(
    SCENARIO_NAMES.map(name => [name, new Map<number, number[]>(rates.map(rate => [rate, []]))]),
  );
  for (let round = -1; round < rounds; round++)
    for (const rate of rates)
      for (const scenario of SCENARIO_NAMES) {
        const [before, start] = [source.treeCpuMs(), performance.now()];
        await source.call("stream", { scenario, rate, ms });
        const share = (source.treeCpuMs() - before) / (performance.now() - start);
        if (round >= 0)
          shares
            .get(scenario)
            ?.get(rate)
            ?.push(100 * share);
      }
  for (const [scenario, byRate] of shares)
    for (const [rate, values] of byRate)
      report.metric(`eager.producer_cpu_${scenario}_${rate}`, values, "% of a processor");
  // Between rejecting nothing and all the cost falls in proportion: where is it that of sending everything?
  const fastest = rates.at(-1) as number;
  const of = (scenario: Scenario): number => summarise(shares.get(scenario)?.get(fastest) ?? []).median;
  const plain = of("plain");
  for (const where of ["", "local_"] as const) {
    const [none, all] = [of(`${where}rejecting0`), of(`${where}rejecting100`)];
    const name = `eager.${where}break_even_rejected`;
    if (all >= plain) report.note(`no ${name} at ${fastest} records/s: even rejecting all costs more`);
    else report.metric(name, Math.max(0, (none - plain) / (none - all)), "x");
  }
  report.plot({
    name: "eager-break-even",
    title: "CPU of a producer of 100-byte records, filtered at the source",
    x: { label: "records per second" },
    y: { label: "CPU", unit: "% of a processor" },
    series: [...shares].map(([scenario, byRate]) => ({
      name: scenario.replace("_", " ").replace(/(\d+)$/, " $1 %"),
      points: [...byRate],
    })),
  });
}

/** 37 x 253 floats to one number, at the producer or at the consumer. */
async function averaging(
  { report, quick }: Context,
  source: Worker,
  processes: readonly Process[],
): Promise<void> {
  const rounds = quick ? 3 : 5;
  const events = quick ? 480 : 960;
  const cpu: Record<Arrays, number[][]> = { whole: [], averaged: [], local_averaged: [] };
  const clock: Record<Arrays, number[]> = { whole: [], averaged: [], local_averaged: [] };
  for (let round = -1; round < rounds; round++)
    for (const scenario of ARRAYS) {
      const before = processes.map(process => process.treeCpuMs());
      const us = await source.call<number>("arrays", { scenario, events });
      const used = processes.map(
        (process, i) => (1000 * (process.treeCpuMs() - (before[i] as number))) / events,
      );
      if (round < 0) continue;
      clock[scenario].push(us);
      cpu[scenario].push(used);
    }
  for (const scenario of ARRAYS) {
    report.metric(`eager.array_${scenario}`, clock[scenario], "us/event");
    for (const [i, part] of ["producer", "gateway", "consumer"].entries())
      report.metric(
        `eager.array_${scenario}_${part}_cpu`,
        cpu[scenario].map(used => used[i] as number),
        "us/event",
      );
  }
  const sum = (rows: readonly number[][]): number[] => rows.map(row => row.reduce((a, b) => a + b, 0));
  for (const averaged of ["averaged", "local_averaged"] as const) {
    report.metric(`eager.array_${averaged}_vs_whole_cpu`, ratios(sum(cpu[averaged]), sum(cpu.whole)), "x");
    report.metric(`eager.array_${averaged}_vs_whole`, ratios(clock[averaged], clock.whole), "x");
  }
}
