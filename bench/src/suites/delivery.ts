import type { Cost } from "../beats.ts";
import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atLeast, atMost } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";

const CONSUMERS = 10;

/** Cost of publishing to the application, and how acknowledgements overlap. */
export const delivery: Suite = {
  name: "delivery",
  about: "what publish costs the application's thread; ten acknowledgements at once against one by one",
  async run({ report, quick }: Context) {
    const rounds = quick ? 5 : 9;
    const ms = quick ? 800 : 2000;
    const processes: Process[] = [];
    try {
      const gateway = await GatewayProcess.start();
      const [consumers, producer] = [new Worker("acknowledgers"), new Worker("deliverer")];
      processes.push(gateway, consumers, producer);
      const ends = { port: gateway.port, consumers: CONSUMERS };
      await consumers.call("open", ends);
      await producer.call("open", ends);

      await producer.call("warming", 2 * ms);
      const rows: { publish: Cost; copy: Cost }[] = [];
      const [alone, inLoop] = [[], []] as [number[], number[]];
      for (let round = -1; round < rounds; round++) {
        const costs = await producer.call<{ publish: Cost; copy: Cost }>("publishing", ms);
        const one = await producer.call<number>("publishingAlone", ms / 2);
        const loop = await producer.call<number>("copying", ms / 8);
        if (round < 0) continue;
        rows.push(costs);
        alone.push(one);
        inLoop.push(loop);
      }
      const of = (work: "publish" | "copy", what: keyof Cost): number[] =>
        rows.map(costs => costs[work][what]);
      const [cpu, call] = [of("publish", "thread"), of("publish", "call")];
      report.metric("delivery.publish_cpu", cpu, "us/event");
      report.metric("delivery.publish_process_cpu", of("publish", "process"), "us/event");
      report.metric("delivery.publish_call", call, "us/event");
      report.metric("delivery.publish_alone_cpu", alone, "us/event");
      report.metric("delivery.copy_cpu", of("copy", "thread"), "us/event");
      report.metric("delivery.copy_call", of("copy", "call"), "us/event");
      report.metric("delivery.copy_in_loop", inLoop, "us/event");
      report.metric("delivery.publish_vs_copy", ratios(cpu, of("copy", "thread")), "x", atMost(3));
      report.metric("delivery.publish_call_vs_copy", ratios(call, of("copy", "call")), "x");
      report.metric("delivery.publish_vs_copy_in_loop", ratios(cpu, inLoop), "x");

      const [overlapping, inTurn] = [[], []] as [number[], number[]];
      for (let round = -1; round < rounds; round++) {
        const times = await producer.call<{ overlapping: number; inTurn: number }>("acknowledging", 10);
        if (round < 0) continue;
        overlapping.push(times.overlapping);
        inTurn.push(times.inTurn);
      }
      report.metric("delivery.sync_overlapping", overlapping, "ms");
      report.metric("delivery.sync_in_turn", inTurn, "ms");
      report.metric("delivery.sync_inflight_speedup", ratios(inTurn, overlapping), "x", atLeast(5));
    } finally {
      await Promise.all(processes.map(process => process.stop()));
    }
  },
};
