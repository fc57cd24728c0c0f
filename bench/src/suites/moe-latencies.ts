import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import { type Context, repeat } from "../suite.ts";
import type { Measurement, Side } from "../workers/moe-latency.ts";

const ACTS = ["sync", "install", "update"] as const;
type Act = (typeof ACTS)[number];
/** Acts in a row, of which the later half counts; and acts of which each comes after a rest, and then another one. */
const CONDITIONS = {
  in_a_row: { times: 1, acts: 20, restMs: 0 },
  rested: { times: 4, acts: 1, restMs: 15 },
} as const;
type Condition = keyof typeof CONDITIONS;
/** Microseconds of each act, round by round. */
type Times = Record<Act, number[]>;
/** Number of sets of processes: by chance some are quicker at the one thing than others, in all of their rounds. */
const RUNS = 3;

/**
 * A modulator with 400 bytes of state, against a synchronous event of 400 bytes, which is measured beside it under the same
 * conditions. A slider that is dragged is updates in a row; nobody installs again and again without a rest.
 */
export async function moeLatencies({ report, quick }: Context): Promise<void> {
  for (const tier of ["hosted", "local"] as const) {
    const times: Record<Condition, Times> = { in_a_row: noTimes(), rested: noTimes() };
    for (let run = 0; run < (quick ? 1 : RUNS); run++)
      await measureRun(tier === "local", quick ? 10 : 30, times);
    for (const condition of ["in_a_row", "rested"] as const) {
      const { sync, install, update } = times[condition];
      const name = tier === "hosted" ? condition : `${condition}_${tier}`;
      report.metric(`moe.sync_${name}`, sync, "us");
      report.metric(`moe.install_${name}`, install, "us");
      report.metric(`moe.update_${name}`, update, "us");
      const headline = { install: "rested", update: "in_a_row" };
      for (const [act, goal] of [
        ["install", 2],
        ["update", 0.6],
      ] as const) {
        const isHeadline = tier === "hosted" && condition === headline[act];
        report.metric(
          isHeadline ? `moe.${act}_vs_sync_event` : `moe.${act}_vs_sync_event_${name}`,
          ratios(times[condition][act], sync),
          "x",
          isHeadline ? atMost(goal) : undefined,
        );
      }
    }
  }
}

function noTimes(): Times {
  return { sync: [], install: [], update: [] };
}

/** With processes of its own. Adds one value to the times of each act and condition for each round. */
async function measureRun(local: boolean, rounds: number, times: Record<Condition, Times>): Promise<void> {
  const processes: Process[] = [];
  try {
    const gateway = await GatewayProcess.start();
    const [producing, consuming] = [new Worker("moe-latency"), new Worker("moe-latency")];
    processes.push(gateway, producing, consuming);
    const side: Side = { port: gateway.port, local };
    await producing.call("produce", side);
    await consuming.call("consume", side);
    for (const condition of ["in_a_row", "rested"] as const) {
      const { times: often, acts, restMs } = CONDITIONS[condition];
      const measurement: Measurement = { acts, restMs };
      const measured = await repeat(rounds, async () => {
        const took = noTimes();
        for (let i = 0; i < often; i++)
          for (const act of ACTS) {
            const where = act === "sync" ? producing : consuming;
            took[act].push(...(await where.call<number[]>(act, measurement)));
          }
        return took;
      });
      const counted = restMs > 0 ? 0 : acts / 2;
      for (const took of measured)
        for (const act of ACTS) times[condition][act].push(summarise(took[act].slice(counted)).median);
    }
  } finally {
    await Promise.all(processes.map(process => process.stop()));
  }
}
