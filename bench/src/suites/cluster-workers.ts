import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Load, LoadGenerator, type Server } from "../crowd.ts";
import { freePort, GatewayProcess } from "../processes.ts";
import { atMost, formatNumber, type Report } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";
import type { Flow } from "../workers/producer.ts";

const SUBSCRIBERS = 500;
const EVENT_BYTES = 128;
const FLOWS: readonly Flow[] = [
  { eventBytes: EVENT_BYTES, window: 1 },
  { eventBytes: EVENT_BYTES, window: 256 },
];
const PARTS = 2;

/**
 * Measures what the parts of a cluster cost a gateway that shares channels with nobody, and what two workers deliver against one. The load generator,
 * its producer and the gateways have the same cores, so how much of the CPU time the first two took is told.
 */
export async function clusterWorkers(report: Report, quick: boolean): Promise<void> {
  const [rounds, ms] = quick ? [3, 400] : [9, 1000];
  const folder = await mkdtemp(join(tmpdir(), "jecho-cluster-"));
  const gateways: GatewayProcess[] = [];
  const generator = new LoadGenerator(PARTS);
  try {
    const secret = join(folder, "secret");
    await writeFile(secret, "a secret of this cluster");
    const self = `127.0.0.1:${await freePort()}`;
    const options = {
      alone: [],
      member: ["--cluster", self, "--cluster-self", self, "--cluster-secret", secret],
      workers: ["--workers", "2"],
    };
    const servers: Server[] = [];
    for (const [name, words] of Object.entries(options)) {
      const process = await GatewayProcess.start(words);
      gateways.push(process);
      servers.push({ name, kind: "jecho", process, port: process.port });
    }
    for (const server of servers)
      await generator.attach(server, { subscribers: SUBSCRIBERS, eventBytes: EVENT_BYTES });
    for (const flow of FLOWS) {
      const loads = new Map<string, Load[]>(servers.map(({ name }) => [name, []]));
      for (let round = -1; round < rounds; round++)
        for (const server of servers) {
          const load = await generator.load(server, flow, ms);
          // The first round is for warming up.
          if (round >= 0) loads.get(server.name)?.push(load);
        }
      tell(report, flow, loads);
    }
  } finally {
    await generator.stop();
    await Promise.all(gateways.map(gateway => gateway.stop()));
    await rm(folder, { recursive: true });
  }
}

function tell(report: Report, { window }: Flow, loads: ReadonlyMap<string, readonly Load[]>): void {
  const of = (name: string, value: (load: Load) => number): number[] => (loads.get(name) ?? []).map(value);
  const cpu = ({ serverMs, deliveries }: Load): number => serverMs / deliveries;
  const perSecond = ({ deliveries, seconds }: Load): number => deliveries / seconds;
  const others = ({ serverMs, generatorMs, producerMs }: Load): number =>
    (generatorMs + producerMs) / (serverMs + generatorMs + producerMs);
  const part = window === 1 ? "" : `_window_${window}`;
  report.metric(
    `cluster.embedded_cost${part}`,
    ratios(of("member", cpu), of("alone", cpu)),
    "x",
    window === 1 ? atMost(1.02) : undefined,
  );
  report.metric(
    `cluster.workers2_vs_1${part}`,
    ratios(of("workers", perSecond), of("alone", perSecond)),
    "x",
  );
  report.metric(`cluster.workers2_cpu_vs_1${part}`, ratios(of("workers", cpu), of("alone", cpu)), "x");
  const [one, two] = ["alone", "workers"].map(name => formatNumber(100 * summarise(of(name, others)).median));
  report.note(
    `of the CPU time the load generator and its producer took ${one} % with one process, ${two} % with two workers`,
  );
}
