import { cpuMsOfAll, GatewayProcess, Worker } from "../processes.ts";
import { atMost, formatNumber } from "../report.ts";
import { summarise } from "../statistics.ts";
import type { Context } from "../suite.ts";
import { eventsIn, type Published } from "../window.ts";
import type { OpenConsumers } from "../workers/consumer.ts";
import type { Publish, PublishFlatOut } from "../workers/publisher.ts";

const QUICK = [1, 2, 4, 8];
const FULL = [1, 2, 4, 8, 16, 32, 64];
/** Size of the paper's null event. */
const EVENT_BYTES = 0;
const START_AT_ONCE = 4;

const channelOf = (consumers: number): string => `sinks/${consumers}`;
/** Consumers whose connection is in the application's own thread. */
const hereChannelOf = (consumers: number): string => `sinks/here/${consumers}`;

/** Times for one number of consumers, a value for each round. */
interface Times {
  readonly channel: string;
  readonly consumers: number;
  readonly sync: number[];
  readonly async: number[];
  /** The newest of them. */
  newest: Published | undefined;
  /** The same with acknowledgements on the way; measured for the fewest and the most consumers. */
  readonly acknowledged: number[];
  /** CPU of producer and gateway for each asynchronous event. */
  readonly asyncCpu: number[];
  /** CPU of one consumer for each of them. */
  readonly consumerCpu: number[];
}

/**
 * Part of `sinks`: average time per event for 1 to 64 consumers, each in a process of its own. There is a channel for each number
 * of consumers, so that all numbers can be measured in turn.
 */
export async function extraSinks({ report, quick }: Context): Promise<void> {
  const counts = quick ? QUICK : FULL;
  const most = counts.at(-1) as number;
  const rounds = quick ? 3 : 5;
  const timesOf = (channel: string, consumers: number): Times => ({
    channel,
    consumers,
    sync: [],
    async: [],
    newest: undefined,
    acknowledged: [],
    asyncCpu: [],
    consumerCpu: [],
  });
  const times = new Map(counts.map(count => [count, timesOf(channelOf(count), count)]));
  const here = new Map([1, most].map(count => [count, timesOf(hereChannelOf(count), count)]));
  const all = [...times.values(), ...here.values()];
  const gateway = await GatewayProcess.start();
  const producer = new Worker("publisher");
  const consumers: Worker[] = [];
  try {
    const { port } = gateway;
    await producer.call("open", { port, channels: all.map(({ channel }) => channel) });
    while (consumers.length < most) {
      const first = consumers.length;
      const some = Array.from(
        { length: Math.min(START_AT_ONCE, most - first) },
        () => new Worker("consumer"),
      );
      consumers.push(...some);
      await Promise.all(
        some.map(async (consumer, i) => {
          const channelsOf = (some: ReadonlyMap<number, Times>): string[] =>
            [...some.values()].filter(({ consumers }) => consumers > first + i).map(({ channel }) => channel);
          const opens: OpenConsumers[] = [
            { port, channels: channelsOf(times) },
            { port, channels: channelsOf(here), place: "here" },
          ];
          for (const open of opens) await consumer.call("open", open);
        }),
      );
    }
    for (const { channel, consumers } of all) await producer.call("demand", { channel, consumers });
    for (let round = -1; round < rounds; round++) {
      for (const its of all) {
        const { channel, consumers: count } = its;
        const options: Publish = { channel, eventBytes: EVENT_BYTES, ms: quick ? 250 : 400 };
        const one = await producer.call<Published>("sync", options);
        const cpuBefore = cpuMsOfAll([gateway, producer]);
        const ofConsumers = cpuMsOfAll(consumers);
        const many = await producer.call<Published>("async", {
          channel,
          eventBytes: EVENT_BYTES,
          events: eventsIn(quick ? 400 : 800, its.newest),
        } satisfies PublishFlatOut);
        const used = cpuMsOfAll([gateway, producer]) - cpuBefore;
        const usedByConsumers = cpuMsOfAll(consumers) - ofConsumers;
        const isAcknowledged = its === times.get(1) || its === times.get(most);
        const windowed = isAcknowledged && (await producer.call<Published>("acknowledged", options));
        its.newest = many;
        // The first round is for warming up.
        if (round < 0) continue;
        its.sync.push(one.usPerEvent);
        its.async.push(many.usPerEvent);
        if (windowed) its.acknowledged.push(windowed.usPerEvent);
        its.asyncCpu.push((1000 * used) / many.events);
        its.consumerCpu.push((1000 * usedByConsumers) / many.events / count);
      }
    }
  } finally {
    await Promise.all([...consumers, producer, gateway].map(process => process.stop()));
  }
  for (const [part, some] of [
    ["", times],
    ["here_", here],
  ] as const)
    for (const [count, { sync, async, acknowledged, asyncCpu, consumerCpu }] of some) {
      report.metric(`sinks.sync_${part}${count}`, sync, "us/event");
      report.metric(`sinks.async_${part}${count}`, async, "us/event");
      if (acknowledged.length > 0) report.metric(`sinks.acknowledged_${count}`, acknowledged, "us/event");
      const [both, each] = [asyncCpu, consumerCpu].map(values => formatNumber(summarise(values).median));
      report.note(
        `sinks.async_${part}${count}: CPU per event ${both} us of producer and gateway, ${each} us of each consumer`,
      );
    }
  report.plot({
    name: "sinks-processes",
    title: "A null event to consumers in processes of their own",
    x: { label: "consumers", scale: "log" },
    y: { label: "time per event", unit: "us", scale: "log" },
    series: (["sync", "async", "asyncCpu"] as const).map(kind => ({
      name: kind === "asyncCpu" ? "CPU, producer, gateway" : kind,
      points: [...times].map(([count, its]) => [count, its[kind]]),
    })),
  });
  const shares = (of: (times: Times) => number[], some: ReadonlyMap<number, Times> = times): number[] => {
    const [first, last] = [1, most].map(count => of(some.get(count) as Times)) as [number[], number[]];
    return first.map((one, round) => ((last[round] as number) - one) / (most - 1) / one);
  };
  const async = ({ async }: Times): number[] => async;
  report.metric("sinks.async_extra_sink", shares(async), "x", atMost(0.17));
  report.metric("sinks.async_extra_sink_here", shares(async, here), "x");
  report.metric(
    "sinks.acknowledged_extra_sink",
    shares(({ acknowledged }) => acknowledged),
    "x",
  );
  report.metric(
    "sinks.async_extra_sink_cpu",
    shares(({ asyncCpu }) => asyncCpu),
    "x",
  );
  report.metric(
    "sinks.sync_extra_sink",
    shares(({ sync }) => sync),
    "x",
  );
}
