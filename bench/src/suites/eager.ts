import { GatewayProcess, Worker } from "../processes.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import { eagerFilters } from "./eager-filters.ts";
import { eagerSession } from "./eager-session.ts";

const STEPS = ["sync", "modulated", "update", "install"] as const;
type Latencies = Readonly<Record<(typeof STEPS)[number], number>>;

/** Costs and benefits of eager handlers: section 5.5 of JECho's paper, figure 8 of ECho's. */
export const eager: Suite = {
  name: "eager",
  about:
    "eager handlers: installing and changing them, a viewer's session with and without, when filters pay",
  async run(context) {
    await latencies(context);
    await eagerFilters(context);
    await eagerSession(context);
  },
};

async function latencies({ report, quick }: Context): Promise<void> {
  const times = quick ? 40 : 150;
  const warmUp = times / 4;
  const gateway = await GatewayProcess.start();
  const worker = new Worker("eager-latency");
  const all: Latencies[] = [];
  try {
    await worker.call("open", gateway.port);
    for (let i = -warmUp; i < times; i++) {
      const latencies = await worker.call<Latencies>("measure");
      if (i >= 0) all.push(latencies);
    }
  } finally {
    await Promise.all([worker.stop(), gateway.stop()]);
  }
  const of = (step: (typeof STEPS)[number]): number[] => all.map(latencies => latencies[step]);
  for (const step of STEPS) report.metric(`eager.${step}`, of(step), "us");
  for (const step of ["modulated", "update", "install"] as const)
    report.metric(`eager.${step}_vs_sync`, ratios(of(step), of("sync")), "x");
}
