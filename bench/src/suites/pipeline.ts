import { GatewayProcess, Worker } from "../processes.ts";
import { atLeast } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import { eventsIn, type Published } from "../window.ts";
import type { OpenStage, RunFlatOut, RunPipeline } from "../workers/stage.ts";

const QUICK = [1, 2, 5, 10];
const FULL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const COMPARED = [2, 10];

/** Times for one length, a value for each round. */
interface Times {
  readonly sync: number[];
  readonly async: number[];
  /** The newest of them. */
  newest: Published | undefined;
  /** The same with acknowledgements on the way, for the lengths that are compared. */
  readonly acknowledged: number[];
  /** CPU for each asynchronous event: of all processes, of the gateway, of the busiest of the others. */
  readonly all: number[];
  readonly gateway: number[];
  readonly busiest: number[];
}

/** Figure 5 of JECho's paper. */
export const pipeline: Suite = {
  name: "pipeline",
  about: "a null event through 1 to 10 channels in a row, each stage a process that consumes and produces",
  async run({ report, quick }: Context) {
    const lengths = quick ? QUICK : FULL;
    const rounds = quick ? 3 : 5;
    const ms = quick ? 500 : 800;
    const gateway = await GatewayProcess.start();
    const stages = Array.from({ length: Math.max(...lengths) + 1 }, () => new Worker("stage"));
    const times = new Map<number, Times>(
      lengths.map(length => [
        length,
        { sync: [], async: [], newest: undefined, acknowledged: [], all: [], gateway: [], busiest: [] },
      ]),
    );
    try {
      // From the end, so that there is a consumer for whatever comes.
      for (const [index, stage] of [...stages.entries()].reverse())
        await stage.call("open", { port: gateway.port, index, lengths } satisfies OpenStage);
      const [source] = stages as [Worker];
      for (let round = -1; round < rounds; round++)
        for (const [length, its] of times) {
          const sync = await source.call<Published>("sync", { length, ms: ms / 4 } satisfies RunPipeline);
          const before = [gateway, ...stages].map(process => process.cpuMs());
          const events = eventsIn(ms, its.newest);
          const async = await source.call<Published>("async", { length, events } satisfies RunFlatOut);
          const used = [gateway, ...stages].map(
            (process, i) => (1000 * (process.cpuMs() - (before[i] as number))) / async.events,
          );
          const windowed =
            COMPARED.includes(length) &&
            (await source.call<Published>("acknowledged", { length, ms: ms / 2 } satisfies RunPipeline));
          its.newest = async;
          if (round < 0) continue;
          if (windowed) its.acknowledged.push(windowed.usPerEvent);
          const [ofGateway = 0, ...ofStages] = used;
          its.sync.push(sync.usPerEvent);
          its.async.push(async.usPerEvent);
          its.all.push(used.reduce((sum, one) => sum + one, 0));
          its.gateway.push(ofGateway);
          its.busiest.push(Math.max(...ofStages));
        }
    } finally {
      await Promise.all([...stages, gateway].map(process => process.stop()));
    }
    for (const [length, { sync, async, acknowledged, all, gateway: ofGateway, busiest }] of times) {
      report.metric(`pipeline.sync_${length}`, sync, "us/event");
      report.metric(`pipeline.async_${length}`, async, "us/event");
      if (acknowledged.length > 0) report.metric(`pipeline.acknowledged_${length}`, acknowledged, "us/event");
      report.metric(`pipeline.async_cpu_${length}`, all, "us/event");
      const [gatewayUs, busiestUs] = [ofGateway, busiest].map(values => summarise(values).median.toFixed(2));
      report.note(
        `length ${length}: CPU per event of the gateway ${gatewayUs} us, of the busiest other process ${busiestUs} us`,
      );
    }
    const [short, long] = COMPARED.map(length => times.get(length)) as [Times, Times];
    // Flat in the paper because each stage has a machine of its own: so the busiest process decides.
    const stageCpu = ratios(short.busiest, long.busiest);
    report.metric("pipeline.length10_vs_length2_stage_cpu", stageCpu, "x", atLeast(0.8));
    report.metric("pipeline.length10_vs_length2_gateway_cpu", ratios(short.gateway, long.gateway), "x");
    report.metric("pipeline.length10_vs_length2_clock", ratios(short.async, long.async), "x");
    const [fewer, more] = COMPARED.map(length => length + 1) as [number, number];
    report.note(
      `by the clock: ${more} processes compute for length 10 and ${fewer} for length 2, so on two cores ${(fewer / more).toFixed(2)} is about the most that can be had`,
    );
    report.metric(
      "pipeline.acknowledged_length10_vs_length2",
      ratios(short.acknowledged, long.acknowledged),
      "x",
    );
    report.plot({
      name: "pipeline",
      title: "A null event through a pipeline, asynchronous",
      x: { label: "channels in a row" },
      y: { label: "time per event", unit: "us" },
      series: [
        { name: "clock", points: [...times].map(([length, { async }]) => [length, async]) },
        { name: "CPU, all processes", points: [...times].map(([length, { all }]) => [length, all]) },
        {
          name: "CPU, busiest stage",
          points: [...times].map(([length, { busiest }]) => [length, busiest]),
        },
      ],
    });
  },
};
